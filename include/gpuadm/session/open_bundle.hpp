#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <filesystem>

namespace session {

/// What --bundle names, a folder or an archive: its signature verified where somebody says whose count
/// (signers_files()), and said where nobody does; unpacked, every file verified, and images put
/// together, below
/// ~/.cache/gpuadm/bundles. What nothing has used for two weeks there goes.
[[nodiscard]] bundle::Result<bundle::Bundle> bring_bundle(const std::filesystem::path& place,
                                                          const std::filesystem::path& signers, const Io& io);

/// Fault::blocked where a host is of another architecture than the bundle.
[[nodiscard]] bundle::Result<> is_for_hosts(const bundle::Bundle& bundle, const spec::Cluster& cluster,
                                            const facts::Census& census);

}  // namespace session
