#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Every byte that is not code: embedded files, the operator's overrides, bundles.
namespace assets {

using base::Result;

/// Playbooks, templates and data, by path ("templates/flannel.yaml"). Looked up in --assets DIR, then
/// $XDG_CONFIG_HOME/gpuadm/assets, /etc/gpuadm/assets, embedded; whole files, never merged, never the current
/// directory.
class Store {
 public:
  /// `directory`: --assets; empty for none. It must exist (Fault::usage).
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& directory);
  /// The text of one asset. Fault::bug where there is none: the path is ours.
  [[nodiscard]] Result<std::string> read(std::string_view path) const;
  /// The embedded text, whatever overrides it; nothing where gpuadm carries none of that path.
  [[nodiscard]] static std::optional<std::string> shipped(std::string_view path);
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix = {}) const;
  /// Where an asset comes from: "embedded" or a file's path.
  [[nodiscard]] std::string origin(std::string_view path) const;
  struct Override {
    std::string path, file, sha256;
  };
  [[nodiscard]] std::vector<Override> overrides() const;

 private:
  std::vector<std::filesystem::path> directories_;
};

enum class BundleKind { binary, runtime, image, package, repository, file };

/// A blob of a bundle: the file blobs/<sha256>.
struct BundlePart {
  std::string sha256;
  std::uint64_t size = 0;
};

struct BundleFile {
  /// Relative to the bundle; of an image that was put together from its parts: absolute. Empty: the blob.
  std::string path;
  BundleKind kind = BundleKind::file;
  std::string target, mode;  ///< of programs and files: where they go
  std::string name;          ///< of images: the reference; of packages: the file's name, or nothing
  std::string os;            ///< of packages: family; of repositories: ID-VERSION_ID, such as debian-12
  std::string sha256;        ///< of an image with parts: of the archive that they become
  std::optional<std::uint64_t> size;  ///< bytes; nothing: the manifest does not say
  /// Of an image: its manifest, its configuration, its layers in order. Empty: the image is one file.
  std::vector<BundlePart> parts;
};

/// A folder with manifest.yaml: what an installation needs, with nothing fetched from elsewhere.
struct Bundle {
  std::filesystem::path directory;
  std::string name, kubernetes, architecture;
  std::vector<std::string> absent;  ///< components it does not carry, for example coredns
  std::vector<BundleFile> files;
};

/// The name of a kind as manifests have it.
[[nodiscard]] std::string_view name_of(BundleKind kind);

/// Reads a manifest; no file is looked at. Every problem at once, as `source:line:column: …`.
[[nodiscard]] Result<Bundle> parse_bundle(std::string_view yaml, std::string_view source);
/// The manifest of a bundle; read back, it is the same.
[[nodiscard]] std::string manifest_of(const Bundle& bundle);

/// Every blob that a bundle has, each once, by SHA-256.
[[nodiscard]] std::map<std::string, std::uint64_t> blobs_of(const Bundle& bundle);

/// Reads manifest.yaml and verifies size and SHA-256 of every file. Errors name the place or the file and
/// both sums. Images in parts become archives below `cache`, which is made (0700) and must outlive the use of
/// the bundle; without it they stay in parts. `sum`: what the manifest must have, where it was looked at
/// before.
[[nodiscard]] Result<Bundle> open_bundle(const std::filesystem::path& directory,
                                         const std::filesystem::path& cache = {}, std::string_view sum = {});

}  // namespace assets
