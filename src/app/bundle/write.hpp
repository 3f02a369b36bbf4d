#pragma once

#include "gpuadm/app/bundle.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string>

/// What create and extend share.
namespace app {

/// Fault::usage where a bundle cannot be written there; found before anything is fetched.
[[nodiscard]] Result<> check_output(const std::filesystem::path& output);

/// Fetches into ~/.cache/gpuadm/blobs, and says on `io` what. `cluster`: whose mirrors and proxy count where
/// neither the command line nor the environment names others.
[[nodiscard]] Result<bundle::Fetcher> open_fetcher(const BundleSource& source, const spec::Cluster& cluster,
                                                   Io& io);

/// An image as a file of a bundle.
[[nodiscard]] Result<bundle::BundleFile> fetch_image(bundle::Fetcher& fetcher, const std::string& name,
                                                     const std::string& architecture);

/// Signs where there is a key, writes the folder or the .tar.zst, and says what came of it.
[[nodiscard]] Result<> write_bundle(const bundle::Bundle& bundle, const std::filesystem::path& key,
                                    const bundle::BlobPlace& place, const std::filesystem::path& output,
                                    Io& io);

}  // namespace app
