#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <string>

namespace cluster {

/// A host itself reports which node it is, and what a control plane does to a node is done to that one.
/// Fault::blocked if the node belongs to another host of the cluster: the other one also reports it, or has
/// its name or address, and this host has neither.
[[nodiscard]] base::Result<> check_claimed_node(const facts::Node& node, const std::string& host,
                                                const spec::Cluster& cluster, const facts::Census& census,
                                                const facts::ClusterFacts& view);

}  // namespace cluster
