#pragma once

#include "transport/session.hpp"
#include "transport/ssh/config.hpp"
#include "transport/ssh/known_hosts.hpp"

#include <optional>
#include <string>

namespace transport {

/// Whose key is looked at, and where known keys are.
class HostKeyCheck {
 public:
  HostKeyCheck(Session& session, std::string host, const Config& config, const std::string& typed_host,
               std::string pinned);

  /// Host-key algorithms to ask for, known ones first.
  [[nodiscard]] std::string preference() const { return host_key_preference(known_); }
  /// Why libssh2 cannot show a key that is known here, where it cannot: host certificates, RSA only.
  [[nodiscard]] std::optional<std::string> unserved() const;
  /// Accepts a key under the session's policy, telling and storing a new one; else Fault::host_key.
  [[nodiscard]] Result<> verify(const std::string& blob);

 private:
  [[nodiscard]] Result<> verify_pinned(const std::string& type, const std::string& shown) const;
  [[nodiscard]] Result<> accept_new(const std::string& type, const std::string& blob);
  [[nodiscard]] std::unexpected<base::Error> changed(const KnownHosts::Entry& entry, const std::string& type,
                                                     const std::string& shown) const;

  Session& session_;
  std::string host_, name_, bare_name_, pinned_;
  std::uint16_t port_;
  std::vector<std::string> files_;
  KnownHosts::Hash hash_;
  std::vector<const KnownHosts::Entry*> known_;
};

}  // namespace transport
