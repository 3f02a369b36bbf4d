#pragma once

#include "transport/session.hpp"
#include "transport/ssh/config/config.hpp"
#include "transport/ssh/keys/algorithms.hpp"
#include "transport/ssh/keys/known_hosts.hpp"

#include <optional>
#include <string>

namespace transport {

/// The host to verify, and the locations of known keys.
class HostKeyCheck {
 public:
  /// `config` outlives it.
  HostKeyCheck(Session& session, std::string host, const Config& config, const std::string& typed_host,
               std::string pinned);

  /// The algorithms to offer the server.
  [[nodiscard]] const Algorithms& algorithms() const { return algorithms_; }
  /// Why libssh2 cannot verify the host's key or has no algorithms, if so: host certificates, RSA only, a
  /// command for known keys, lines or files of known keys that cannot be read, unsupported algorithms. See
  /// also unserved() of a Config.
  [[nodiscard]] std::optional<std::string> unserved() const;
  /// Verifies a key under the stricter of the session's policy and the configuration's, and stores a new one
  /// with a notice; otherwise Fault::host_key. A host whose key was accepted in this run is
  /// Session::has_new_key(). `address`: that of the connection, for CheckHostIP; empty: a proxy's.
  [[nodiscard]] Result<> verify(const std::string& blob, const std::string& address = "");
  /// The effective policy: the stricter one wins. Without a file for new keys (`UserKnownHostsFile none`),
  /// none is accepted, as by OpenSSH.
  [[nodiscard]] spec::HostKeys policy() const { return policy_; }
  /// The known_hosts files, in the order of reading.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  /// Whether a key or a CA is known for the host, or a key is pinned.
  [[nodiscard]] bool is_known() const;
  /// Fault::host_key if the pinned key is revoked in a known_hosts file.
  [[nodiscard]] Result<> pinned_is_not_revoked() const;

 private:
  using Entries = std::vector<const KnownHosts::Entry*>;
  [[nodiscard]] bool is_pinned(const std::string& shown) const;
  [[nodiscard]] Result<> is_not_revoked(const std::string& blob, const Entries& entries) const;
  [[nodiscard]] Result<> is_not_changed_at(const std::string& address, const std::string& blob) const;
  [[nodiscard]] std::optional<std::string> no_usable_key() const;
  [[nodiscard]] Result<> verify_pinned(const std::string& type, const std::string& shown) const;
  [[nodiscard]] Result<> accept_new(const std::string& type, const std::string& blob);
  [[nodiscard]] std::unexpected<base::Error> changed(const KnownHosts::Entry& entry, const std::string& name,
                                                     const std::string& type, const std::string& shown) const;
  [[nodiscard]] std::string why_strict() const;

  Session& session_;
  const Config& config_;
  std::string host_, name_, bare_name_, pinned_;
  spec::HostKeys policy_;
  Algorithms algorithms_;
  std::uint16_t port_;
  std::vector<std::string> files_;
  KnownHosts::Hash hash_;
  Entries known_;
  Entries bare_;  ///< known without the port: OpenSSH accepts these keys as well
};

}  // namespace transport
