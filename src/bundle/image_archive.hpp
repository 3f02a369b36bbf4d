#pragma once

#include "gpuadm/bundle/files.hpp"

#include "bundle/known_sums.hpp"

#include <functional>

namespace bundle {

/// The path of a blob, relative to its bundle.
[[nodiscard]] std::string blob_path(std::string_view sha256);

/// Adds a file to a tar archive.
[[nodiscard]] Result<> add_file(const std::function<Result<>(std::string_view)>& sink, std::string_view name,
                                const std::filesystem::path& file, std::uint64_t size);

/// The archive assembled from an image's parts: an OCI image layout that Docker's `load` also reads.
/// Reproducible. Fault::parse if the image's manifest lists other parts.
[[nodiscard]] Result<> write_image(const BlobPlace& place, const std::string& name,
                                   const std::vector<BundlePart>& parts,
                                   const std::function<Result<>(std::string_view piece)>& sink);

/// The archive of an image as a file in `cache`, named by its checksum: the existing one, otherwise a new
/// one. Fault::spec if its checksum differs from the image's.
[[nodiscard]] Result<std::filesystem::path> put_together(const BundleFile& image, const BlobPlace& place,
                                                         const std::filesystem::path& cache, KnownSums& sums);

}  // namespace bundle
