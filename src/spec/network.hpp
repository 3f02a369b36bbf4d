#pragma once

#include "spec/types.hpp"

namespace spec {

/// Validates the two networks, alone and together. `file` is the cluster file.
void judge_networks(const Cluster& cluster, const Tree& file, Problems& problems);

/// Sets controlPlane.endpoint if it is derived from controlPlane.virtualAddress.
void complete_endpoint(Cluster& cluster);

/// The virtual address is the endpoint's, and not a host's.
void judge_virtual_address(const Cluster& cluster, const Tree& file, Problems& problems);

}  // namespace spec
