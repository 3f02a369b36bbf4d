#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which node of a cluster belongs to a host that is removed. Hosts and nodes both report a machine id, and
/// nodes report addresses: neither alone decides which node is deleted.
namespace cluster {

using base::Result;

/// A node as reported by the acting control-plane node.
struct Known {
  std::string name, machine_id;
  std::vector<std::string> addresses;
};

/// All nodes, and whether they connect their pods by routes.
struct Nodes {
  std::vector<Known> all;
  bool routed = false;
};

/// Whether a node, or a member of etcd, has the host's name or address in the cluster file.
[[nodiscard]] bool is_known_as(const Known& node, const spec::Host& host);

/// Parses the output of playbooks/read/nodes.sh on a control-plane node.
[[nodiscard]] Nodes read_nodes(std::string_view output);

/// The node of a host that is removed: a reachable host must have the node's machine id, and the node must
/// have the host's name or address in the cluster file; for an unreachable host, only the name or address is
/// compared, also with those of the other `hosts` of the file. Nothing: it is no longer a node.
/// Fault::blocked if they contradict each other.
[[nodiscard]] Result<std::optional<std::string>> node_of(const spec::Host& host,
                                                         const Result<facts::Facts>& facts,
                                                         const std::vector<Known>& nodes,
                                                         const std::vector<spec::Host>& hosts = {});

}  // namespace cluster
