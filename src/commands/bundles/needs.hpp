#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/bundles/bundle_options.hpp"
#include "commands/bundles/system_packages.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

/// The files that hosts need, computed before anything is downloaded.
namespace commands {

/// The combined files of --for. Without facts, the hosts are assumed to have GPUs and no container runtime.
struct BundleNeeds {
  spec::Cluster cluster;
  base::Version kubernetes;
  bool version_is_assumed = false;  ///< only the minor was given
  std::string architecture;         ///< amd64, arm64
  bool gpus = true, runtime = true;
  bool has_facts = false;          ///< the files contained facts of hosts
  std::set<std::string> families;  ///< of operating systems; empty: unknown
  std::vector<PackageHost> hosts;  ///< those with facts
};
[[nodiscard]] Result<BundleNeeds> read_needs(const BundleCreateOptions& options,
                                             const playbook::Catalog& catalog);

/// URL of the newest patch of a minor: `newest` of data/sources.yaml.
[[nodiscard]] Result<std::string> newest_source(const assets::Store& store, const playbook::Catalog& catalog,
                                                const base::Version& minor);
/// Parses its contents: "v1.36.4". Fault::parse for anything that is not a patch of this minor.
[[nodiscard]] Result<base::Version> read_newest(std::string_view text, const base::Version& minor,
                                                const std::string& source);

/// A row of data/sources.yaml, with its variables replaced.
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
  std::set<std::string> parts;  ///< all known components
};
/// For the version, architecture and package mirrors of `needs`. Fault::spec for errors in the file.
[[nodiscard]] Result<Sources> read_sources(const assets::Store& store, const playbook::Catalog& catalog,
                                           const BundleNeeds& needs);

/// Whether the driver's packages are included. Fault::usage if the hosts that need them are unknown.
[[nodiscard]] Result<bool> needs_driver(const BundleNeeds& needs, const std::vector<std::string>& skip);

/// Removes the components that are not needed or are skipped. Fault::usage for an unknown component.
[[nodiscard]] Result<> choose_sources(Sources& sources, const BundleNeeds& needs,
                                      const std::vector<std::string>& skip);

/// A section of playbooks/catalog.yaml whose rows have images: a list, or a map with `images`.
struct CatalogImages {
  const char *section, *option, *noun;
};
inline constexpr CatalogImages notebook_images{"notebooks", "--notebook", "framework"},
    engine_images{"serve", "--serve", "engine"};
/// The images of these rows: of every CUDA version, and those without; only these if no host has a GPU.
/// Fault::usage for an unknown row.
[[nodiscard]] Result<std::vector<std::string>> catalog_images(const assets::Store& store,
                                                              const BundleNeeds& needs,
                                                              const CatalogImages& group,
                                                              const std::vector<std::string>& names);

/// The images of add-ons. Fault::usage for an unknown one, and for one that gpuadm does not install.
[[nodiscard]] Result<std::vector<std::string>> addon_images(const playbook::Catalog& catalog,
                                                            const base::Version& kubernetes,
                                                            const std::vector<std::string>& addons);

/// The SHA-256 of a file in a list of checksums in the format of sha256sum, or in a text with only the
/// checksum.
[[nodiscard]] std::optional<std::string> find_sum(std::string_view text, std::string_view file);
/// The same in a Debian repository's Packages.
[[nodiscard]] std::optional<std::string> find_in_index(std::string_view text, std::string_view file);

}  // namespace commands
