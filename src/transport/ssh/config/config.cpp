#include "transport/ssh/config/config.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

namespace transport {

namespace {
std::string own_name() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry ? entry->pw_name : "root";
}

std::vector<std::string> list(std::string_view value) {
  std::vector<std::string> items;
  for (auto word : base::words(value)) items.emplace_back(word);
  return items;
}

/// Files; "none" stands for no file (ssh_config(5)).
std::vector<std::string> files(std::string_view value) {
  return value == "none" ? std::vector<std::string>{} : list(value);
}

bool yes(std::string_view value) {
  return value == "yes" || value == "true";
}
bool no(std::string_view value) {
  return value == "no" || value == "false";
}

std::vector<std::string> names(std::string_view value) {
  std::vector<std::string> items;
  for (const std::string_view item : base::split(value, ','))
    if (!item.empty()) items.emplace_back(item);
  return items;
}

std::string unless_none(std::string_view value) {
  return std::string(value == "none" ? "" : value);
}

using Setter = std::function<void(Config&, std::string_view)>;
const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> table{
      {"hostname", [](Config& c, std::string_view v) { c.host_name = v; }},
      {"user", [](Config& c, std::string_view v) { c.user = v; }},
      {"port", [](Config& c,
                  std::string_view v) { c.port = static_cast<std::uint16_t>(base::to_int(v).value_or(22)); }},
      {"hostkeyalias", [](Config& c, std::string_view v) { c.key_alias = v; }},
      {"identityfile",
       [](Config& c, std::string_view v) {
         if (v != "none") c.identity_files.emplace_back(v);
       }},
      {"certificatefile", [](Config& c, std::string_view v) { c.certificate_files.emplace_back(v); }},
      {"userknownhostsfile", [](Config& c, std::string_view v) { c.user_known_hosts = files(v); }},
      {"globalknownhostsfile", [](Config& c, std::string_view v) { c.global_known_hosts = files(v); }},
      {"identitiesonly", [](Config& c, std::string_view v) { c.identities_only = yes(v); }},
      {"gssapiauthentication", [](Config& c, std::string_view v) { c.gssapi = yes(v); }},
      {"hashknownhosts", [](Config& c, std::string_view v) { c.hash_known_hosts = yes(v); }},
      {"identityagent", [](Config& c, std::string_view v) { c.identity_agent = v; }},
      {"proxycommand", [](Config& c, std::string_view v) { c.proxy_command = v; }},
      {"proxyjump", [](Config& c, std::string_view v) { c.proxy_jump = v; }},
      {"stricthostkeychecking", [](Config& c, std::string_view v) { c.strict = yes(v); }},
      {"knownhostscommand", [](Config& c, std::string_view v) { c.known_hosts_command = unless_none(v); }},
      {"revokedhostkeys", [](Config& c, std::string_view v) { c.revoked_host_keys = unless_none(v); }},
      {"kexalgorithms", [](Config& c, std::string_view v) { c.kex_algorithms = names(v); }},
      {"hostkeyalgorithms", [](Config& c, std::string_view v) { c.host_key_algorithms = names(v); }},
      {"ciphers", [](Config& c, std::string_view v) { c.ciphers = names(v); }},
      {"macs", [](Config& c, std::string_view v) { c.macs = names(v); }},
      {"pubkeyacceptedalgorithms", [](Config& c, std::string_view v) { c.key_algorithms = names(v); }},
      {"pubkeyacceptedkeytypes", [](Config& c, std::string_view v) { c.key_algorithms = names(v); }},
      {"requiredrsasize",
       [](Config& c, std::string_view v) {
         c.least_rsa_bits = static_cast<int>(base::to_int(v).value_or(Config::usual_rsa_bits));
       }},
      {"bindaddress", [](Config& c, std::string_view v) { c.bind_address = v; }},
      {"bindinterface", [](Config& c, std::string_view v) { c.bind_interface = v; }},
      {"preferredauthentications", [](Config& c, std::string_view v) { c.preferred_methods = names(v); }},
      {"pubkeyauthentication", [](Config& c, std::string_view v) { c.keys = !no(v); }},
      {"passwordauthentication", [](Config& c, std::string_view v) { c.passwords = !no(v); }},
      {"kbdinteractiveauthentication", [](Config& c, std::string_view v) { c.interactive = !no(v); }},
      {"challengeresponseauthentication", [](Config& c, std::string_view v) { c.interactive = !no(v); }},
      {"batchmode", [](Config& c, std::string_view v) { c.batch = yes(v); }},
      {"numberofpasswordprompts",
       [](Config& c, std::string_view v) {
         c.password_prompts = static_cast<int>(base::to_int(v).value_or(3));
       }},
  };
  return table;
}
}  // namespace

std::filesystem::path login_home() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry && entry->pw_dir && *entry->pw_dir == '/' ? std::filesystem::path(entry->pw_dir)
                                                         : base::home();
}

Config parse_config(std::string_view text) {
  Config config;
  for (auto line : base::lines(text)) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const auto found = setters().find(line.substr(0, blank));
    if (found != setters().end()) found->second(config, base::trim(line.substr(blank + 1)));
  }
  if (config.proxy_command == "none") config.proxy_command.clear();
  if (config.proxy_jump == "none") config.proxy_jump.clear();
  return config;
}

bool Config::allows(std::string_view method) const {
  if (!preferred_methods.empty() && std::ranges::find(preferred_methods, method) == preferred_methods.end())
    return false;
  if (method == "publickey") return keys;
  if (method == "password") return passwords && !batch;
  if (method == "keyboard-interactive") return interactive && !batch;
  return true;
}

Config plain_config(const std::string& host) {
  Config config;
  config.host_name = base::lower(host);
  config.user = own_name();
  for (const char* name : {"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"})
    config.identity_files.push_back(fmt::format("~/.ssh/{}", name));
  config.user_known_hosts = {"~/.ssh/known_hosts"};
  config.global_known_hosts = {"/etc/ssh/ssh_known_hosts"};
  return config;
}

std::string expand(std::string_view text, const Config& config, const std::string& typed_host, Tilde tilde) {
  std::string out;
  if (tilde == Tilde::yes && (text == "~" || text.starts_with("~/"))) {
    out = login_home().string();
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case '%':
        out += '%';
        break;
      case 'h':
        out += config.host_name;
        break;
      case 'p':
        out += std::to_string(config.port);
        break;
      case 'r':
        out += config.user;
        break;
      case 'n':
        out += typed_host;
        break;
      case 'd':
        out += login_home().string();
        break;
      case 'u':
        out += own_name();
        break;
      default:
        out += {'%', text[i]};
    }
  }
  return out;
}

std::optional<ConfigQuestion> jump_of(const Config& config, const std::string& typed_host) {
  if (config.proxy_jump.empty()) return std::nullopt;
  const std::string jumps = expand(config.proxy_jump, config, typed_host, Tilde::no);
  std::string_view jump = jumps;
  jump.remove_prefix(jump.rfind(',') + 1);  // npos + 1 is 0
  if (jump.starts_with("ssh://")) jump.remove_prefix(6);
  ConfigQuestion question;
  if (const auto at = jump.rfind('@'); at != jump.npos) {
    question.user = jump.substr(0, at);
    jump.remove_prefix(at + 1);
  }
  const auto closing = jump.find(']');
  const auto colon = jump.rfind(':');
  if (colon != jump.npos && (closing == jump.npos ? jump.find(':') == colon : colon > closing)) {
    question.port = static_cast<std::uint16_t>(base::to_int(jump.substr(colon + 1)).value_or(0));
    jump = jump.substr(0, colon);
  }
  if (jump.starts_with('[') && jump.ends_with(']')) jump = jump.substr(1, jump.size() - 2);
  question.host = jump;
  return question;
}

std::vector<std::string> proxy_of(const Config& config, const std::string& typed_host,
                                  const Options& options) {
  if (!config.proxy_jump.empty()) {
    const std::string jumps = expand(config.proxy_jump, config, typed_host, Tilde::no);
    const std::size_t last = jumps.rfind(',');
    std::string jump = jumps.substr(last == std::string::npos ? 0 : last + 1);
    const bool v6 = config.host_name.find(':') != std::string::npos;
    const std::string there = v6 ? "[" + config.host_name + "]" : config.host_name;
    std::vector<std::string> argv{"ssh",
                                  "-oBatchMode=yes",
                                  "-oServerAliveInterval=15",
                                  "-oServerAliveCountMax=3",
                                  "-oClearAllForwardings=yes",
                                  options.host_keys == spec::HostKeys::accept_new && !config.jump_is_strict
                                      ? "-oStrictHostKeyChecking=accept-new"
                                      : "-oStrictHostKeyChecking=yes",
                                  "-W",
                                  fmt::format("{}:{}", there, config.port)};
    if (!options.ssh_config.empty()) argv.insert(argv.end(), {"-F", options.ssh_config.string()});
    if (!options.known_hosts.empty()) argv.push_back("-oUserKnownHostsFile=" + options.known_hosts.string());
    if (last != std::string::npos) argv.insert(argv.end(), {"-J", jumps.substr(0, last)});
    if (!jump.starts_with("ssh://")) jump = "ssh://" + jump;
    argv.insert(argv.end(), {"--", jump});
    return argv;
  }
  if (config.proxy_command.empty()) return {};
  return {"/bin/sh", "-c", "exec " + expand(config.proxy_command, config, typed_host, Tilde::no)};
}

}  // namespace transport
