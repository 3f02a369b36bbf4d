#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which node of a cluster a host is that leaves it. A host says which machine id it has, and a node says of
/// itself which machine id and addresses it has: neither alone chooses the node that is deleted.
namespace cluster {

using base::Result;

/// A node as the control plane that acts has it.
struct Known {
  std::string name, machine_id;
  std::vector<std::string> addresses;
};

/// All nodes, and whether routes on each of them join their pods.
struct Nodes {
  std::vector<Known> all;
  bool routed = false;
};

/// From what playbooks/read/nodes.sh prints on a control plane.
[[nodiscard]] Nodes read_nodes(std::string_view output);

/// The node of a host that leaves: one that answered must have the node's machine id, and the node the host's
/// name or address as the operator knows it; of one that did not answer, the name or address is all there is.
/// Nothing: it is no node any more. Fault::blocked where they do not agree.
[[nodiscard]] Result<std::optional<std::string>> node_of(const spec::Host& host,
                                                         const Result<facts::Facts>& facts,
                                                         const std::vector<Known>& nodes);

}  // namespace cluster
