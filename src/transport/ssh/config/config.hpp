#pragma once

#include "gpuadm/transport/transport.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// The operator's OpenSSH configuration for one host: the output of `ssh -G`.
struct Config {
  std::string host_name;  ///< address or name to connect to
  std::string user;
  std::uint16_t port = 22;
  std::string key_alias;  ///< name in known_hosts, if different
  std::vector<std::string> identity_files, certificate_files;
  std::vector<std::string> user_known_hosts, global_known_hosts;  ///< empty: "none"
  bool identities_only = false;
  bool gssapi = false;
  bool hash_known_hosts = false;
  std::string identity_agent;  ///< empty: $SSH_AUTH_SOCK
  std::string proxy_command, proxy_jump;

  // The operator's policy: gpuadm may be stricter, never less strict.
  bool strict = false;          ///< StrictHostKeyChecking yes
  bool jump_is_strict = false;  ///< the same for the host of proxy_jump; set by the caller
  std::string known_hosts_command, revoked_host_keys;
  /// Empty: no limit.
  std::vector<std::string> kex_algorithms, host_key_algorithms, ciphers, macs, key_algorithms;
  static constexpr int usual_rsa_bits = 1024;
  int least_rsa_bits = usual_rsa_bits;  ///< RequiredRSASize
  std::string bind_address, bind_interface;
  std::vector<std::string> preferred_methods;  ///< empty: all
  bool keys = true, passwords = true, interactive = true;
  bool batch = false;
  int password_prompts = 3;
  /// Whether an authentication method is allowed: "publickey", "password", "keyboard-interactive",
  /// "gssapi-with-mic".
  [[nodiscard]] bool allows(std::string_view method) const;
};

/// The query: an endpoint's own values take precedence, as on ssh's command line.
struct ConfigQuestion {
  std::string host, user;
  std::uint16_t port = 0;
};

/// The home directory that OpenSSH uses for ~: that of the account, regardless of $HOME, so that keys and
/// known_hosts are in the same place.
[[nodiscard]] std::filesystem::path login_home();

/// Parses `ssh -G`'s output; unused keys are skipped.
[[nodiscard]] Config parse_config(std::string_view text);

/// OpenSSH's defaults.
[[nodiscard]] Config plain_config(const std::string& host);

/// Whether a leading ~ is the home directory.
enum class Tilde { yes, no };
/// Expands %h %p %r %n %d %u %% (ssh_config(5), TOKENS).
[[nodiscard]] std::string expand(std::string_view text, const Config& config, const std::string& typed_host,
                                 Tilde tilde = Tilde::yes);

/// The last host of ProxyJump, with its tokens expanded, for a query of `ssh -G`. Nothing: none.
[[nodiscard]] std::optional<ConfigQuestion> jump_of(const Config& config, const std::string& typed_host);

/// The command whose stdin and stdout are connected to the host through ProxyJump or ProxyCommand. Empty:
/// connect directly.
[[nodiscard]] std::vector<std::string> proxy_of(const Config& config, const std::string& typed_host,
                                                const Options& options);

}  // namespace transport
