#pragma once

#include "gpuadm/app/bundle.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "app/bundle/system_packages.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

/// What hosts need, before anything is fetched.
namespace app {

/// What the files named by --for say together. Without facts nothing is known of the hosts: they have GPUs,
/// and no container runtime.
struct BundleNeeds {
  spec::Cluster cluster;
  base::Version kubernetes;
  bool version_is_assumed = false;  ///< only the minor was named
  std::string architecture;         ///< amd64, arm64
  bool gpus = true, runtime = true;
  bool seen = false;               ///< the files had facts of hosts
  std::set<std::string> families;  ///< of operating systems; empty: not known
  std::vector<PackageHost> hosts;  ///< those that were seen
};
[[nodiscard]] Result<BundleNeeds> read_needs(const BundleCreateOptions& options,
                                             const playbook::Catalog& catalog);

/// Where the newest patch of a minor is named: `newest` of data/sources.yaml.
[[nodiscard]] Result<std::string> newest_source(const assets::Store& store, const playbook::Catalog& catalog,
                                                const base::Version& minor);
/// What it says: "v1.36.4". Fault::parse for anything that is no patch of this minor.
[[nodiscard]] Result<base::Version> read_newest(std::string_view text, const base::Version& minor,
                                                const std::string& source);

/// A row of data/sources.yaml, filled in.
struct SourceFile {
  std::string part, url, sum, index, key, fingerprints, content, target, mode, os;
  bundle::BundleKind kind = bundle::BundleKind::file;
  std::map<std::string, std::string> members;  ///< of an archive: file -> target
};
struct SourceImage {
  std::string part, name;
};
struct Sources {
  std::vector<SourceFile> files;
  std::vector<SourceImage> images;
  std::set<std::string> parts;  ///< every part that there is
};
/// For the version, the architecture and the package mirrors of `needs`. Fault::spec names what is wrong with
/// the file.
[[nodiscard]] Result<Sources> read_sources(const assets::Store& store, const playbook::Catalog& catalog,
                                           const BundleNeeds& needs);

/// Whether the driver's packages are asked for. Fault::usage where nothing tells which hosts get them.
[[nodiscard]] Result<bool> needs_driver(const BundleNeeds& needs, const std::vector<std::string>& skip);

/// Leaves what is needed, and not skipped. Fault::usage for a part that there is not.
[[nodiscard]] Result<> choose_sources(Sources& sources, const BundleNeeds& needs,
                                      const std::vector<std::string>& skip);

/// The SHA-256 of a file in a list of checksums as sha256sum writes it, or in a text that is nothing else.
[[nodiscard]] std::optional<std::string> find_sum(std::string_view text, std::string_view file);
/// The same in a Debian repository's Packages.
[[nodiscard]] std::optional<std::string> find_in_index(std::string_view text, std::string_view file);

}  // namespace app
