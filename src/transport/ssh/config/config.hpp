#pragma once

#include "gpuadm/transport/transport.hpp"

#include <sys/socket.h>

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
  /// The option of the two whose files gpuadm cannot separate: `ssh -G` prints blanks in names as it prints
  /// those between names. Empty: none.
  std::string unclear_files;
  bool identities_only = false;
  /// Options for ssh's command line, instead of settings that leave no session for a command (StdinNull yes).
  std::vector<std::string> client_options;
  bool gssapi = false;
  bool host_based = false;  ///< HostbasedAuthentication
  bool hash_known_hosts = false;
  std::string identity_agent;   ///< empty: $SSH_AUTH_SOCK
  std::string pkcs11_provider;  ///< a library with keys
  std::string proxy_command, proxy_jump;
  bool proxy_passes_descriptor = false;  ///< ProxyUseFdpass

  // The operator's policy: gpuadm may be stricter, never less strict.
  bool strict = false;          ///< StrictHostKeyChecking yes
  bool jump_is_strict = false;  ///< the same for the host of proxy_jump; set by the caller
  std::string known_hosts_command, revoked_host_keys;
  /// Empty: no limit.
  std::vector<std::string> kex_algorithms, host_key_algorithms, ciphers, macs, key_algorithms;
  static constexpr int usual_rsa_bits = 1024;
  int least_rsa_bits = usual_rsa_bits;  ///< RequiredRSASize
  std::string bind_address, bind_interface;
  int family = AF_UNSPEC;  ///< AddressFamily, for getaddrinfo
  bool check_ip = false;   ///< CheckHostIP
  static constexpr std::string_view usual_rekey_limit = "0 0";
  std::string rekey_limit{usual_rekey_limit};  ///< RekeyLimit
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

/// The name under which OpenSSH connects to a host and knows its key, without HostName: an address in its
/// usual form, otherwise in lower case.
[[nodiscard]] std::string canonical(const std::string& host);

/// Parses `ssh -G`'s output; unused keys are skipped.
[[nodiscard]] Config parse_config(std::string_view text);

/// OpenSSH's defaults.
[[nodiscard]] Config plain_config(const std::string& host);

/// Why libssh2 cannot connect under this configuration, so that the OpenSSH client must: restrictions that
/// libssh2 cannot enforce, and values that gpuadm cannot expand or split.
[[nodiscard]] std::optional<std::string> unserved(const Config& config, const std::string& typed_host);

/// The option of ssh's command line for a known_hosts file.
[[nodiscard]] std::string known_hosts_option(const std::filesystem::path& file);

/// The last host of ProxyJump, with its tokens expanded, for a query of `ssh -G`. Nothing: none, or see
/// unserved().
[[nodiscard]] std::optional<ConfigQuestion> jump_of(const Config& config, const std::string& typed_host);

/// The command whose stdin and stdout are connected to the host through ProxyJump or ProxyCommand. Empty:
/// connect directly.
[[nodiscard]] std::vector<std::string> proxy_of(const Config& config, const std::string& typed_host,
                                                const Options& options);

}  // namespace transport
