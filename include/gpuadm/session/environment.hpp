#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/spec/cluster.hpp"

namespace session {

/// The presets of the cluster's region, and the login for its proxy, which is read from the operator's file.
/// Fault::spec or usage where one is not to be had. Again is no harm.
[[nodiscard]] base::Result<> resolve_environment(spec::Cluster& cluster, const assets::Store& assets);

}  // namespace session
