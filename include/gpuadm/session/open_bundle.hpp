#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>

namespace session {

/// Opens the directory or archive of --bundle: its signature is verified if there are trusted signers
/// (signers_files()), otherwise a warning is printed; unpacked, with every file verified and images
/// assembled, below ~/.cache/gpuadm/bundles. Bundles there that were not used for two weeks are removed.
[[nodiscard]] bundle::Result<bundle::Bundle> bring_bundle(const std::filesystem::path& place,
                                                          const std::filesystem::path& signers, const Io& io);

/// Fault::blocked if a host's architecture differs from the bundle's.
[[nodiscard]] bundle::Result<> is_for_hosts(const bundle::Bundle& bundle, const spec::Cluster& cluster,
                                            const facts::Census& census);

}  // namespace session
