#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Package repositories of Debian and Ubuntu (https://wiki.debian.org/DebianRepository/Format): their
/// indices, and the packages that an installation needs. Their contents are untrusted.
namespace bundle::debian {

using base::Result;

/// The checksums of an index in a release file; at least one of them is set.
struct Sum {
  std::string sha256, sha512;
  std::uint64_t size = 0;
};
/// The text that an InRelease signs; a text without a signature is returned unchanged.
[[nodiscard]] std::string signed_text(std::string_view in_release);
/// The files of a release by path, from its sections SHA256 and SHA512. Fault::parse names `source` if it has
/// neither.
[[nodiscard]] Result<std::map<std::string, Sum>> parse_release(std::string_view text,
                                                               const std::string& source);

/// A version of a package. The views are into the index's text.
struct Package {
  std::string_view name, version, depends, pre_depends, provides, sha256;
  std::uint64_t size = 0;
  std::string url;
  std::string_view stanza;  ///< its complete entry in the index
};

/// The indices of several repositories.
class Index {
 public:
  Index() = default;
  Index(const Index&) = delete;  // packages are views into its texts
  Index& operator=(const Index&) = delete;
  /// Adds the text of a `Packages` file; files are below `base`. Fault::parse names `source` and the package
  /// that has no checksum, or whose file would be outside.
  [[nodiscard]] Result<> add(std::string packages, const std::string& base, const std::string& source);
  /// Every version of a package, the newest first.
  [[nodiscard]] std::vector<const Package*> find(std::string_view name) const;
  /// The newest whose version, without an epoch, begins with the text; nullptr if none does.
  [[nodiscard]] const Package* newest(std::string_view name, std::string_view beginning) const;

  /// The packages of `roots` and all their dependencies, each once, by name: the newest version that
  /// satisfies them. A chosen package is reused for later dependencies. Fault::blocked names the package and
  /// its missing dependency.
  [[nodiscard]] Result<std::vector<const Package*>> closure(const std::vector<const Package*>& roots) const;

 private:
  friend class Closure;
  /// Providers of a name, with the provided version; empty: unversioned.
  struct Provider {
    const Package* package;
    std::string_view version;
  };
  std::deque<std::string> texts_;
  std::deque<Package> packages_;
  std::map<std::string_view, std::vector<const Package*>> by_name_;
  std::map<std::string_view, std::vector<Provider>> providers_;
};

/// The entry of a package in an index, with `file` as its file.
[[nodiscard]] std::string stanza_with(const Package& package, const std::string& file);

}  // namespace bundle::debian
