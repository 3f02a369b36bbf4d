#pragma once

#include "transport/session.hpp"
#include "transport/ssh/config/config.hpp"
#include "transport/ssh/keys/algorithms.hpp"
#include "transport/ssh/keys/known_hosts.hpp"

#include <optional>
#include <string>

namespace transport {

/// Whose key is looked at, and where known keys are.
class HostKeyCheck {
 public:
  /// `config` outlives it.
  HostKeyCheck(Session& session, std::string host, const Config& config, const std::string& typed_host,
               std::string pinned);

  /// What to offer the server.
  [[nodiscard]] const Algorithms& algorithms() const { return algorithms_; }
  /// Why libssh2 cannot connect as the operator's configuration demands, where it cannot: host certificates,
  /// RSA only, a command that knows the keys, a list of revoked ones, algorithms that it does not have.
  [[nodiscard]] std::optional<std::string> unserved() const;
  /// Accepts a key under the stricter of the session's policy and the configuration's, telling and storing a
  /// new one; else Fault::host_key. A host whose key was accepted in this run is Session::has_new_key().
  [[nodiscard]] Result<> verify(const std::string& blob);
  /// The policy that holds: what accepts no new keys wins.
  [[nodiscard]] spec::HostKeys policy() const { return policy_; }
  /// Whether a key or an authority is known for the host, or one is pinned.
  [[nodiscard]] bool is_known() const;
  /// Fault::host_key where the pinned key stands in a known_hosts file as a revoked one.
  [[nodiscard]] Result<> pinned_is_not_revoked() const;

 private:
  [[nodiscard]] bool is_pinned(const std::string& shown) const;
  [[nodiscard]] Result<> verify_pinned(const std::string& type, const std::string& shown) const;
  [[nodiscard]] Result<> accept_new(const std::string& type, const std::string& blob);
  [[nodiscard]] std::unexpected<base::Error> changed(const KnownHosts::Entry& entry, const std::string& type,
                                                     const std::string& shown) const;

  Session& session_;
  const Config& config_;
  std::string host_, name_, bare_name_, pinned_;
  spec::HostKeys policy_;
  Algorithms algorithms_;
  std::uint16_t port_;
  std::vector<std::string> files_;
  KnownHosts::Hash hash_;
  std::vector<const KnownHosts::Entry*> known_;
};

}  // namespace transport
