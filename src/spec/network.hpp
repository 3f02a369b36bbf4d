#pragma once

#include "spec/types.hpp"

namespace spec {

/// What the two networks get wrong, alone and together. `file` is the cluster file.
void judge_networks(const Cluster& cluster, const Tree& file, Problems& problems);

/// controlPlane.endpoint, where it follows from controlPlane.virtualAddress.
void complete_endpoint(Cluster& cluster);

/// The virtual address is the endpoint's, and nobody's own.
void judge_virtual_address(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
