#include "gpuadm/base/redact.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <optional>

namespace base {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The names of settings whose value is a secret.
constexpr std::array secret_keys = std::to_array<std::string_view>(
    {"password", "passwd", "passphrase", "secret", "token", "auth", "identitytoken", "identity_token",
     "registrytoken", "apikey", "api_key", "api-key", "access_key", "secret_key", "client_secret",
     "client-key-data", "private_key"});

/// The value of `key = value`, `key: value` or `"key": "value"` whose key ends at `at`; empty where it has
/// none, or one that is no secret. `quote`: what the word with the key began with, where that was a quote:
/// then
/// `"key=a value"` is one.
std::string_view value_after(std::string_view text, std::size_t at, char quote) {
  const bool inside = quote != '\0' && at < text.size() && text[at] == '=';
  auto from = text.find_first_not_of("\"' \t\\", at);
  if (from == text.npos || (text[from] != '=' && text[from] != ':')) return {};
  from = text.find_first_not_of(" \t\\", from + 1);
  if (from == text.npos || text[from] == '{' || text[from] == '[') return {};
  const bool quoted = text[from] == '"' || text[from] == '\'';
  const auto end = quoted   ? text.find(text[from], from + 1)
                   : inside ? text.find(quote, from)
                            : text.find_first_of(" \t,}", from);
  const auto begin = quoted ? from + 1 : from;
  const std::string_view value = text.substr(begin, end == text.npos ? end : end - begin);
  const bool plain = value == "true" || value == "false" || value == "null" || value == "***";
  return plain ? std::string_view() : value;
}

/// Where the name of a setting begins that ends in the word at `at`: of "DB_PASSWORD" and "dbPassword" the D.
/// Nothing where the word is only a part of another one: of "bypassword".
std::optional<std::size_t> setting_at(std::string_view text, std::size_t at) {
  const auto before = [&](std::size_t i) { return i > 0 ? text[i - 1] : ' '; };
  const bool hump = std::isupper(static_cast<unsigned char>(text[at])) != 0 &&
                    std::islower(static_cast<unsigned char>(before(at))) != 0;
  if (!begins_word(text, at) && before(at) != '_' && !hump) return std::nullopt;
  while (!begins_word(text, at) || before(at) == '-') --at;
  return at;
}

/// Whether a word is short enough to mean many things, so that it counts only where it is the whole name.
bool must_be_whole(std::string_view key) {
  return key == "auth";
}

/// Every secret of a line that stands behind the name of its setting.
std::string without_settings(std::string text, std::size_t& count) {
  std::string low = lower(text);
  for (const std::string_view key : secret_keys)
    for (auto at = low.find(key); at != low.npos; at = low.find(key, at + key.size())) {
      const auto begin = setting_at(text, at);
      if (!begin || (must_be_whole(key) && *begin != at)) continue;
      const char opening = *begin > 0 ? text[*begin - 1] : ' ';
      const std::string_view value =
          value_after(text, at + key.size(), opening == '"' || opening == '\'' ? opening : '\0');
      if (value.empty()) continue;
      text = starred(text, value);
      low = lower(text);
      ++count;
    }
  return text;
}

/// "Bearer …" and "Basic …" of an HTTP header.
std::string without_credentials(std::string text, std::size_t& count) {
  for (const std::string_view scheme : {"bearer ", "basic "}) {
    const std::string low = lower(text);
    const auto at = low.find(scheme);
    if (at == low.npos || (at > 0 && is_word(low[at - 1]))) continue;
    const std::string_view rest = std::string_view(text).substr(at + scheme.size());
    const std::string_view value = rest.substr(0, rest.find_first_of(" \t\"',;"));
    if (value.size() < 8) continue;
    text = starred(text, value);
    ++count;
  }
  return text;
}

/// People in every URL of a line.
std::string without_people(std::string text, std::size_t& count) {
  for (auto scheme = text.find("://"); scheme != text.npos; scheme = text.find("://", scheme + 3)) {
    const std::string_view rest = std::string_view(text).substr(scheme + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/ \"'"));
    const auto at = authority.rfind('@');
    if (at == authority.npos || authority.substr(0, at) == "***") continue;
    text = starred(text, authority.substr(0, at));
    ++count;
  }
  return text;
}

}  // namespace

std::string starred(std::string_view text, std::string_view part) {
  const auto at = static_cast<std::size_t>(part.data() - text.data());
  return fmt::format("{}***{}", text.substr(0, at), text.substr(at + part.size()));
}

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0 || !is_word(text[at - 1])) return true;
  const bool escape = at > 1 && text[at - 2] == '\\';
  return escape && (text[at - 1] == 'n' || text[at - 1] == 't' || text[at - 1] == 'r');
}

std::string without_secrets(std::string_view line, std::size_t& count) {
  return without_people(without_credentials(without_settings(std::string(line), count), count), count);
}

}  // namespace base
