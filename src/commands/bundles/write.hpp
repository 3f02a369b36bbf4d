#pragma once

#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "commands/bundles/bundle_options.hpp"

#include <string>

/// Shared by create and extend.
namespace commands {

/// Fault::usage if the bundle's path is unusable; checked before anything is downloaded.
[[nodiscard]] Result<> check_output(const std::filesystem::path& output);

/// Downloads into ~/.cache/gpuadm/blobs, with progress on `io`. `cluster`: its mirrors and proxy are used
/// unless the command line or the environment has others.
[[nodiscard]] Result<bundle::Fetcher> open_fetcher(const BundleSource& source, const spec::Cluster& cluster,
                                                   Io& io);

/// An image as a file of a bundle.
[[nodiscard]] Result<bundle::BundleFile> fetch_image(bundle::Fetcher& fetcher, const std::string& name,
                                                     const std::string& architecture);

/// Signs if there is a key, writes the directory or the .tar.zst, and reports the result.
[[nodiscard]] Result<> write_bundle(const bundle::Bundle& bundle, const std::filesystem::path& key,
                                    const bundle::BlobPlace& place, const std::filesystem::path& output,
                                    Io& io);

}  // namespace commands
