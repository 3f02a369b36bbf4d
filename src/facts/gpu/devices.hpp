#pragma once

#include "gpuadm/facts/cluster.hpp"

#include "facts/sections/sections.hpp"

namespace facts {

/// What cluster.sh printed of resource.k8s.io: its versions, device classes, slices and claims.
void read_devices(const Sections& sections, ClusterFacts& facts);

}  // namespace facts
