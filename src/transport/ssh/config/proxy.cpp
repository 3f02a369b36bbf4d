#include "gpuadm/base/text.hpp"

#include "transport/ssh/config/config.hpp"
#include "transport/ssh/config/tokens.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace transport {

namespace {
std::string through_jump_host(const Config& config, const std::string& typed_host) {
  return expand(config.proxy_jump, config, typed_host, Expansion::proxy).value_or("");
}

/// The shell that OpenSSH runs a ProxyCommand with.
std::string operators_shell() {
  const char* shell = std::getenv("SHELL");
  return shell && *shell ? shell : "/bin/sh";
}

/// Restrictions of libssh2's connection: the option and its value, empty where it restricts nothing.
std::array<std::pair<const char*, std::string>, 5> restrictions(const Config& config) {
  return {{{"RevokedHostKeys", config.revoked_host_keys},
           {"BindAddress", config.bind_address},
           {"BindInterface", config.bind_interface},
           {"RekeyLimit", config.rekey_limit == Config::usual_rekey_limit ? "" : config.rekey_limit},
           {"ProxyUseFdpass", config.proxy_passes_descriptor ? config.proxy_command : ""}}};
}
}  // namespace

std::optional<std::string> unserved(const Config& config, const std::string& typed_host) {
  for (const auto& [name, value] : restrictions(config))
    if (!value.empty()) return fmt::format("the ssh configuration sets {} {}", name, value);
  if (!config.unclear_files.empty())
    return fmt::format("the ssh configuration may have a blank in a name in {}", config.unclear_files);
  using enum Expansion;
  const auto unexpanded = [&](const char* name, const std::string& value,
                              Expansion expansion) -> std::optional<std::string> {
    if (expand(value, config, typed_host, expansion)) return std::nullopt;
    return fmt::format("the ssh configuration sets {} {}, which only OpenSSH expands", name, value);
  };
  for (const auto& file : config.user_known_hosts)
    if (auto why = unexpanded("UserKnownHostsFile", file, completed)) return why;
  for (const auto& file : config.global_known_hosts)
    if (auto why = unexpanded("GlobalKnownHostsFile", file, tilde)) return why;
  if (!config.identity_agent.starts_with('$') || config.identity_agent.starts_with("${"))
    if (auto why = unexpanded("IdentityAgent", config.identity_agent, completed)) return why;
  if (auto why = unexpanded("ProxyJump", config.proxy_jump, proxy)) return why;
  return unexpanded("ProxyCommand", config.proxy_command, proxy);
}

std::string known_hosts_option(const std::filesystem::path& file) {
  return fmt::format("-oUserKnownHostsFile=\"{}\"", base::replace_all(file.string(), "%", "%%"));
}

std::optional<ConfigQuestion> jump_of(const Config& config, const std::string& typed_host) {
  const std::string jumps = through_jump_host(config, typed_host);
  if (jumps.empty()) return std::nullopt;
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
    const std::string jumps = through_jump_host(config, typed_host);
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
    if (!options.known_hosts.empty()) argv.push_back(known_hosts_option(options.known_hosts));
    if (last != std::string::npos) argv.insert(argv.end(), {"-J", jumps.substr(0, last)});
    if (!jump.starts_with("ssh://")) jump = "ssh://" + jump;
    argv.insert(argv.end(), {"--", jump});
    return argv;
  }
  if (config.proxy_command.empty()) return {};
  return {operators_shell(), "-c",
          "exec " + expand(config.proxy_command, config, typed_host, Expansion::proxy).value_or("false")};
}

}  // namespace transport
