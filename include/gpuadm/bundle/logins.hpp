#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace bundle {

/// Logins for registries, from the file that `docker login`, `podman login` and `skopeo login` write:
/// https://man.archlinux.org/man/containers-auth.json.5
class Logins {
 public:
  Logins() = default;
  /// `source` names the file in errors, which show nothing of what it holds: Fault::usage. Entries that are
  /// not understood are as if they were not there.
  [[nodiscard]] static base::Result<Logins> parse(std::string_view json, std::string source);
  /// What HTTP's Basic scheme sends to that host for the repository: the entry that says most of its path;
  /// else nothing. `host` may have a port.
  [[nodiscard]] const base::Secret* find(std::string_view host, std::string_view repository) const;
  /// What the operator can do where there is none for the host.
  [[nodiscard]] std::string advice(std::string_view host) const;
  /// The file; empty: there was none.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::map<std::string, base::Secret, std::less<>> logins_;  ///< host[/path]
  std::set<std::string, std::less<>> helpers_;               ///< hosts whose login a helper holds
  bool helper_for_all_ = false;
};

}  // namespace bundle
