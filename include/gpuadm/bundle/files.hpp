#pragma once

#include "gpuadm/bundle/bundle.hpp"

#include <functional>

/// Bundles as they lie on disk: a folder with manifest.yaml and blobs/, or the same in one .tar.zst.
namespace bundle {

/// Where a blob of some sum is.
using BlobPlace = std::function<std::filesystem::path(const std::string& sha256)>;

/// The bundle with every file a blob, and where the blobs of a bundle that was read are. The sizes of files
/// that the manifest does not tell are looked up.
struct Blobs {
  Bundle bundle;
  BlobPlace place;
};
[[nodiscard]] Result<Blobs> as_blobs(const Bundle& bundle);

/// The sum of the archive that an image's parts become, and its size.
[[nodiscard]] Result<BundlePart> sum_of_image(const std::string& name, const std::vector<BundlePart>& parts,
                                              const BlobPlace& place);

/// Makes the folder, which must be empty or missing. `signature`: of the manifest's text; empty: none.
[[nodiscard]] Result<> write_bundle_folder(const Bundle& bundle, const std::string& signature,
                                           const BlobPlace& place, const std::filesystem::path& folder);
/// Makes the archive: manifest, signature, blobs in the order of their sums. The same bundle gives the same
/// bytes.
[[nodiscard]] Result<> write_bundle_archive(const Bundle& bundle, const std::string& signature,
                                            const BlobPlace& place, const std::filesystem::path& file);

/// Unpacks an archive below `cache`, in a folder named by its manifest's sum, and returns that. Only what the
/// manifest names is written, with the size and the sum that stand there; everything else is refused by name:
/// Fault::spec. With an empty `cache` nothing is written, and the same is refused.
[[nodiscard]] Result<std::filesystem::path> unpack_bundle(const std::filesystem::path& file,
                                                          const std::filesystem::path& cache);

/// The manifest and its signature (empty: it has none) of a folder or an archive, without a look at anything
/// else.
struct BundleHead {
  std::string manifest, signature;
};
[[nodiscard]] Result<BundleHead> read_bundle_head(const std::filesystem::path& place);

/// The files of a gzip or plain tar archive that are wanted, by name: their bytes go where `sinks` says.
/// Fault::parse names one that is not there. At most `limit` bytes a file.
[[nodiscard]] Result<> extract(const std::filesystem::path& archive, std::uint64_t limit,
                               const std::map<std::string, std::function<Result<>(std::string_view)>>& sinks);

}  // namespace bundle
