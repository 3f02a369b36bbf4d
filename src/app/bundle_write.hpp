#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/bundle_files.hpp"
#include "gpuadm/assets/fetch.hpp"

#include <string>
#include <vector>

/// What create and extend share.
namespace app {

/// Fault::usage where a bundle cannot be written there; found before anything is fetched.
[[nodiscard]] Result<> check_output(const std::filesystem::path& output);

/// Fetches into ~/.cache/gpuadm/blobs, and says on `io` what. `mirrors`: REGISTRY=URL.
[[nodiscard]] Result<assets::Fetcher> open_fetcher(const std::string& source,
                                                   const std::vector<std::string>& mirrors, Io& io);

/// An image as a file of a bundle.
[[nodiscard]] Result<assets::BundleFile> fetch_image(assets::Fetcher& fetcher, const std::string& name,
                                                     const std::string& architecture);

/// Signs where there is a key, writes the folder or the .tar.zst, and says what came of it.
[[nodiscard]] Result<> write_bundle(const assets::Bundle& bundle, const std::filesystem::path& key,
                                    const assets::BlobPlace& place, const std::filesystem::path& output,
                                    Io& io);

}  // namespace app
