#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/spec/cluster.hpp"

namespace session {

/// Applies the presets of the cluster's region, and reads the login for its proxy from the operator's file.
/// Fault::spec or usage if one is invalid. Idempotent.
[[nodiscard]] base::Result<> resolve_environment(spec::Cluster& cluster, const assets::Store& assets);

/// Reads the key files of CephFS storages, which must be the operator's alone. Keys that are already set are
/// kept. Fault::usage with the key of the cluster file.
[[nodiscard]] base::Result<> read_storage_keys(spec::Cluster& cluster);

}  // namespace session
