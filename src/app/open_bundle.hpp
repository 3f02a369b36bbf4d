#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>

namespace app {

/// What --bundle names, a folder or an archive: its signature verified where somebody says whose count
/// (`signers`, else ~/.config/gpuadm/allowed_signers), unpacked, every file verified, and images put
/// together, below
/// ~/.cache/gpuadm/bundles. What nothing has used for two weeks there goes.
[[nodiscard]] assets::Result<assets::Bundle> bring_bundle(const std::filesystem::path& place,
                                                          const std::filesystem::path& signers);

/// Fault::blocked where a host is of another architecture than the bundle.
[[nodiscard]] assets::Result<> is_for_hosts(const assets::Bundle& bundle, const spec::Cluster& cluster,
                                            const facts::Census& census);

}  // namespace app
