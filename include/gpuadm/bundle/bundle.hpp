#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What an installation needs, with nothing fetched from elsewhere: reading, writing and fetching it.
namespace bundle {

using base::Result;

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

}  // namespace bundle
