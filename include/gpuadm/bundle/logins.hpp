#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace bundle {

/// Registry logins, from the file that `docker login`, `podman login` and `skopeo login` write:
/// https://man.archlinux.org/man/containers-auth.json.5
class Logins {
 public:
  Logins() = default;
  /// `source` is the file's name in errors, which never contain its contents: Fault::usage. Unknown entries
  /// are ignored.
  [[nodiscard]] static base::Result<Logins> parse(std::string_view json, std::string source);
  /// The credentials for HTTP's Basic scheme for the host and repository: the entry with the longest matching
  /// path; nothing if none matches. `host` may have a port.
  [[nodiscard]] const base::Secret* find(std::string_view host, std::string_view repository) const;
  /// What the operator can do if there is no login for the host.
  [[nodiscard]] std::string advice(std::string_view host) const;
  /// The file; empty: none.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::map<std::string, base::Secret, std::less<>> logins_;  ///< host[/path]
  std::set<std::string, std::less<>> helpers_;               ///< hosts whose login is stored by a helper
  bool helper_for_all_ = false;
};

}  // namespace bundle
