#pragma once

#include "gpuadm/transport/transport.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transport {

/// What the operator's OpenSSH configuration says about one host: the answer of `ssh -G`.
struct Config {
  std::string host_name;  ///< address or name to connect to
  std::string user;
  std::uint16_t port = 22;
  std::string key_alias;  ///< name in known_hosts, where it is another
  std::vector<std::string> identity_files, certificate_files, user_known_hosts, global_known_hosts;
  bool identities_only = false;
  bool gssapi = false;
  bool hash_known_hosts = false;
  std::string identity_agent;  ///< empty: $SSH_AUTH_SOCK
  std::string proxy_command, proxy_jump;
};

/// Reads `ssh -G`'s output; keys that are not used are skipped.
[[nodiscard]] Config parse_config(std::string_view text);

/// What OpenSSH would say without any configuration.
[[nodiscard]] Config plain_config(const std::string& host);

/// Whether a leading ~ stands for the home directory.
enum class Tilde { yes, no };
/// Expands %h %p %r %n %d %u %% (ssh_config(5), TOKENS).
[[nodiscard]] std::string expand(std::string_view text, const Config& config, const std::string& typed_host,
                                 Tilde tilde = Tilde::yes);

/// The command whose stdin and stdout lead to the host through ProxyJump or ProxyCommand. Empty: connect
/// directly.
[[nodiscard]] std::vector<std::string> proxy_of(const Config& config, const std::string& typed_host,
                                                const Options& options);

}  // namespace transport
