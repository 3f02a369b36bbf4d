#include "transport/ssh/config/tokens.hpp"

#include "gpuadm/base/files.hpp"

#include <climits>

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace transport {

namespace {
std::string machine_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// One letter after %. Nothing: a token that is not known here.
std::optional<std::string> token(char letter, const Config& config, const std::string& typed_host,
                                 Expansion expansion) {
  switch (letter) {
    case '%':
      return "%";
    case 'h':
      return config.host_name;
    case 'n':
      return typed_host;
    case 'p':
      return std::to_string(config.port);
    case 'r':
      return config.user;
    default:
      break;
  }
  if (expansion == Expansion::proxy) return std::nullopt;
  switch (letter) {
    case 'd':
      return login_home().string();
    case 'i':
      return std::to_string(::getuid());
    case 'k':
      return config.key_alias.empty() ? typed_host : config.key_alias;
    case 'l':
      return machine_name();
    case 'L':
      return machine_name().substr(0, machine_name().find('.'));
    case 'u':
      return login_name();
    default:
      return std::nullopt;
  }
}

/// The variable of "${NAME}…", which is removed from `text`. Nothing: not set, or not closed.
std::optional<std::string> take_variable(std::string_view& text) {
  const std::size_t end = text.find('}');
  if (end == std::string_view::npos) return std::nullopt;
  const char* value = std::getenv(std::string(text.substr(2, end - 2)).c_str());
  text.remove_prefix(end + 1);
  return value ? std::optional<std::string>(value) : std::nullopt;
}
}  // namespace

std::filesystem::path login_home() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry && entry->pw_dir && *entry->pw_dir == '/' ? std::filesystem::path(entry->pw_dir)
                                                         : base::home();
}

std::string login_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry ? entry->pw_name : "root";
}

std::optional<std::string> expand(std::string_view text, const Config& config, const std::string& typed_host,
                                  Expansion expansion) {
  std::string out;
  if (expansion != Expansion::proxy && text.starts_with('~')) {
    text.remove_prefix(1);
    if (!text.empty() && !text.starts_with('/')) return std::nullopt;
    out = login_home().string();
  }
  if (expansion == Expansion::tilde) return out.append(text);
  while (!text.empty()) {
    std::optional<std::string> next(std::in_place, 1, text.front());
    if (expansion != Expansion::proxy && text.starts_with("${")) {
      next = expansion == Expansion::completed ? std::nullopt : take_variable(text);
    } else if (text.front() == '%') {
      next = expansion == Expansion::completed || text.size() < 2
                 ? std::nullopt
                 : token(text[1], config, typed_host, expansion);
      text.remove_prefix(std::min<std::size_t>(2, text.size()));
    } else {
      text.remove_prefix(1);
    }
    if (!next) return std::nullopt;
    out += *next;
  }
  return out;
}

}  // namespace transport
