#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include <functional>

/// Bundles on disk: a directory with manifest.yaml and blobs/, or the same in one .tar.zst.
namespace bundle {

/// The path of a blob by its checksum.
using BlobPlace = std::function<std::filesystem::path(const std::string& sha256)>;

/// The bundle with every file as a blob, and the location of the blobs of an existing bundle. Sizes that are
/// not in the manifest are read from the files.
struct Blobs {
  Bundle bundle;
  BlobPlace place;
};
[[nodiscard]] Result<Blobs> as_blobs(const Bundle& bundle);

/// The checksum and size of the archive that is assembled from an image's parts.
[[nodiscard]] Result<BundlePart> sum_of_image(const std::string& name, const std::vector<BundlePart>& parts,
                                              const BlobPlace& place);

/// Assembles the images of a bundle that are in parts into archives in `cache`, which is created, and sets
/// their paths. Existing archives are used. Fault::spec if the checksum of one differs.
[[nodiscard]] Result<> assemble_images(Bundle& bundle, const BlobPlace& place,
                                       const std::filesystem::path& cache);

/// Creates the directory, which must be empty or missing. `signature`: of the manifest's text; empty: none.
[[nodiscard]] Result<> write_bundle_folder(const Bundle& bundle, const std::string& signature,
                                           const BlobPlace& place, const std::filesystem::path& folder);
/// Creates the archive: manifest, signature, blobs in the order of their checksums. The output is
/// reproducible.
[[nodiscard]] Result<> write_bundle_archive(const Bundle& bundle, const std::string& signature,
                                            const BlobPlace& place, const std::filesystem::path& file);

/// Unpacks an archive below `cache`, into a directory named after its manifest's checksum, and returns that
/// directory. Only files in the manifest are written, with the size and checksum in it; everything else is
/// rejected by name: Fault::spec. With an empty `cache`, only verifies.
[[nodiscard]] Result<std::filesystem::path> unpack_bundle(const std::filesystem::path& file,
                                                          const std::filesystem::path& cache);

/// Reads only the manifest and its signature (empty: none) from a directory or an archive.
struct BundleHead {
  std::string manifest, signature;
};
[[nodiscard]] Result<BundleHead> read_bundle_head(const std::filesystem::path& place);

/// Extracts files from a gzip or plain tar archive by name, into `sinks`. Fault::parse names one that is
/// missing. At most `limit` bytes a file.
[[nodiscard]] Result<> extract(const std::filesystem::path& archive, std::uint64_t limit,
                               const std::map<std::string, std::function<Result<>(std::string_view)>>& sinks);

}  // namespace bundle
