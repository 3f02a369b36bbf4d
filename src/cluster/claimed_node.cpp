#include "gpuadm/cluster/claimed_node.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cluster {

namespace {

bool has_node(const spec::Host& host, const facts::Node& node) {
  return base::lower(host.name) == node.name || base::lower(host.endpoint.address) == node.name ||
         (!node.address.empty() && host.endpoint.address == node.address);
}

}  // namespace

base::Result<> check_claimed_node(const facts::Node& node, const std::string& host,
                                  const spec::Cluster& cluster, const facts::Census& census,
                                  const facts::ClusterFacts& view) {
  const auto own = std::ranges::find(cluster.hosts, host, &spec::Host::name);
  const bool is_own = own != cluster.hosts.end() && has_node(*own, node);
  for (const spec::Host& other : cluster.hosts) {
    if (other.name == host) continue;
    const auto facts = census.find(other.name);
    const bool reports =
        facts != census.end() && facts->second && facts::node_of(view, *facts->second) == &node;
    if (reports || (!is_own && has_node(other, node)))
      return base::fail(
          base::Fault::blocked,
          fmt::format("{} reports that it is the node {}, which is {}", host, node.name, other.name),
          "kubectl get nodes -o wide shows the addresses of nodes; a host that was tampered with may report "
          "another one's name");
  }
  return {};
}

}  // namespace cluster
