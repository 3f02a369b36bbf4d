#pragma once

#include "gpuadm/bundle/files.hpp"

#include <functional>

namespace bundle {

/// Where a blob is, relative to its bundle.
[[nodiscard]] std::string blob_path(std::string_view sha256);

/// Adds a file to a tar archive.
[[nodiscard]] Result<> add_file(const std::function<Result<>(std::string_view)>& sink, std::string_view name,
                                const std::filesystem::path& file, std::uint64_t size);

/// The archive that an image's parts become: an OCI image layout that Docker's `load` reads, too.
/// The same parts and name give the same bytes. Fault::parse where the manifest does not name the other
/// parts.
[[nodiscard]] Result<> write_image(const BlobPlace& place, const std::string& name,
                                   const std::vector<BundlePart>& parts,
                                   const std::function<Result<>(std::string_view piece)>& sink);

/// The archive of an image as a file in `cache`, named by its sum: the one that is there, else a new one.
/// Fault::spec where it has not the sum that the manifest says.
[[nodiscard]] Result<std::filesystem::path> put_together(const std::filesystem::path& bundle,
                                                         const BundleFile& image,
                                                         const std::filesystem::path& cache);

}  // namespace bundle
