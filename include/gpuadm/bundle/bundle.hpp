#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Bundles: reading, creating and verifying the files of an offline installation.
namespace bundle {

using base::Result;

enum class BundleKind { binary, runtime, image, package, repository, file };

/// A blob of a bundle: the file blobs/<sha256>.
struct BundlePart {
  std::string sha256;
  std::uint64_t size = 0;
};

struct BundleFile {
  /// Relative to the bundle; for an image that was assembled from its parts: absolute. Empty: the blob.
  std::string path;
  BundleKind kind = BundleKind::file;
  std::string target, mode;  ///< of programs and files: destination
  std::string name;          ///< of images: the reference; of packages: the file's name, or empty
  std::string os;            ///< of packages: family; of repositories: ID-VERSION_ID, such as debian-12
  std::string sha256;        ///< of an image with parts: of the archive assembled from them
  std::optional<std::uint64_t> size;  ///< bytes; nothing: not in the manifest
  /// Of an image: its manifest, its configuration, its layers in order. Empty: the image is one file.
  std::vector<BundlePart> parts;
};

/// A directory with manifest.yaml: everything that an offline installation needs.
struct Bundle {
  std::filesystem::path directory;
  std::string name, kubernetes, architecture;
  std::vector<std::string> absent;  ///< components that it does not contain, for example coredns
  std::vector<BundleFile> files;
};

/// The name of a kind in manifests.
[[nodiscard]] std::string_view name_of(BundleKind kind);

/// Parses a manifest without reading files. Every problem at once, as `source:line:column: …`.
[[nodiscard]] Result<Bundle> parse_bundle(std::string_view yaml, std::string_view source);
/// Serializes a manifest; parsing it returns the same manifest.
[[nodiscard]] std::string manifest_of(const Bundle& bundle);

/// Every blob of a bundle once, by SHA-256.
[[nodiscard]] std::map<std::string, std::uint64_t> blobs_of(const Bundle& bundle);

/// Reads manifest.yaml and verifies the size and SHA-256 of every file. Errors name the directory or the file
/// and both checksums. Images in parts are assembled into archives below `cache`, which is created (0700) and
/// must outlive the use of the bundle; without it they remain in parts. `sum`: the expected checksum of the
/// manifest, if it was inspected before.
[[nodiscard]] Result<Bundle> open_bundle(const std::filesystem::path& directory,
                                         const std::filesystem::path& cache = {}, std::string_view sum = {});

}  // namespace bundle
