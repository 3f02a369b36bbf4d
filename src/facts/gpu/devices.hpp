#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

/// The output of cluster.sh about resource.k8s.io: versions, device classes, slices and claims.
void read_devices(const Sections& sections, ClusterFacts& facts);

}  // namespace facts
