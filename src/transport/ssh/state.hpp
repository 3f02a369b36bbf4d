#pragma once

#include "transport/ssh/config/config_cache.hpp"
#include "transport/ssh/keys/key_ring.hpp"
#include "transport/ssh/keys/known_hosts.hpp"

namespace transport {

/// Shared by all SSH connections of a session.
struct SshState {
  explicit SshState(Session& session);
  ~SshState();
  SshState(const SshState&) = delete;
  SshState& operator=(const SshState&) = delete;

  ConfigCache configs;
  KnownHosts known_hosts;
  KeyRing keys;

  /// A socket for a master connection of the OpenSSH client, in a private directory.
  [[nodiscard]] std::string new_control_path();

 private:
  std::string control_folder_;
  int controls_ = 0;
};

}  // namespace transport
