#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>
#include <set>

/// The nodes, one by one and compared.
namespace checks {

namespace {

void nodes_ready(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::Node& node : *nodes)
    for (const auto& [type, condition] : node.conditions) {
      const bool bad = type == "Ready" ? condition.status != "True" : condition.status == "True";
      const bool known = type == "Ready" || type == "NetworkUnavailable" || type.ends_with("Pressure");
      if (bad && known)
        out.fail(type == "Ready" || type == "NetworkUnavailable" ? Severity::blocker : Severity::warning,
                 type == "Ready" ? "node " + node.name + " is not ready"
                                 : fmt::format("node {} reports {}", node.name, type),
                 type == "Ready" ? fmt::format("{}: {}", condition.reason, node.message) : condition.reason,
                 "gpuadm doctor --stage node on " + node.name + "; kubectl describe node " + node.name);
    }
}

void taints(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::Node& node : *nodes)
    for (const facts::Taint& taint : node.taints) {
      const bool plane = taint.key == "node-role.kubernetes.io/control-plane" ||
                         taint.key == "node-role.kubernetes.io/master";
      if (plane && nodes->size() == 1)
        out.fail(Severity::warning, "the only node accepts no pods", taint.key,
                 fmt::format("kubectl taint nodes {} {}-", node.name, taint.key));
      if (taint.key == "node.cloudprovider.kubernetes.io/uninitialized")
        out.fail(Severity::warning, "a node is not initialized by its cloud provider",
                 node.name + " has " + taint.key,
                 "install the cloud controller manager, or remove --cloud-provider=external");
      if (taint.key == "node.kubernetes.io/unschedulable")
        out.fail(Severity::note, "a node is cordoned", node.name, "kubectl uncordon " + node.name);
    }
}

/// The kubelet renews its lease every 10 s. After node-monitor-grace-period its node becomes unknown: 40 s,
/// since Kubernetes 1.32 50 s.
double grace_of(const Whole& w) {
  const auto server = base::Version::parse(w.facts.version);
  return server && server->minor >= 32 ? 50 : 40;
}

void clock_drift(const Whole& w, Verdicts& out) {
  const auto* leases = given(w.facts.leases, out, "the leases of the nodes");
  if (!leases) return;
  if (!w.facts.clock) return out.unknown("the control plane's clock could not be read");
  for (const auto& [node, renewed] : *leases) {
    const double age = *w.facts.clock - renewed;
    if (age > grace_of(w))
      out.fail(Severity::blocker, "a kubelet has not renewed its lease",
               fmt::format("{}: {:.0f} s ago", node, age),
               "gpuadm doctor --stage node on " + node + ": kubelet, network, clock");
    else if (age < -10)
      out.fail(Severity::warning, "a node's clock is ahead of the control plane's",
               fmt::format("{} renewed its lease {:.0f} s from now", node, -age), "timedatectl on " + node);
  }
}

void unique(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  std::map<std::string, std::string> seen;
  for (const facts::Node& node : *nodes) {
    if (node.address.empty()) continue;
    const auto [place, fresh] = seen.try_emplace(node.address, node.name);
    if (!fresh)
      out.fail(Severity::warning, "two nodes have the same address",
               fmt::format("{} and {}: {}", place->second, node.name, node.address),
               "set --node-ip of each kubelet to its own address, or kubectl delete the stale node");
  }
}

/// Reports nodes that differ in a property: values with their nodes.
void report_differences(const std::map<std::string, std::vector<std::string>>& nodes_by_value,
                        Severity severity, const std::string& message, const std::string& remedy,
                        Verdicts& out) {
  if (nodes_by_value.size() < 2) {
    if (!nodes_by_value.empty()) out.pass(nodes_by_value.begin()->first);
    return;
  }
  std::vector<std::string> parts;
  for (const auto& [value, nodes] : nodes_by_value)
    parts.push_back(fmt::format("{}: {}", value, some(nodes)));
  out.fail(severity, message, base::join(parts, "; "), remedy);
}

using ByValue = std::map<std::string, std::vector<std::string>>;

void os_uniform(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  ByValue found;
  for (const facts::Node& node : *nodes) found[node.os + ", " + node.kernel].push_back(node.name);
  report_differences(found, Severity::note, "nodes have different systems or kernels",
                     "upgrade all nodes to one release and kernel", out);
}

void containerd_skew(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  ByValue found;
  for (const facts::Node& node : *nodes) {
    const std::size_t scheme = node.runtime.find("://");
    const auto version =
        base::Version::parse(scheme == std::string::npos ? node.runtime : node.runtime.substr(scheme + 3));
    found[node.runtime.substr(0, scheme) + " " + (version ? version->minor_text() : "?")].push_back(
        node.name);
  }
  report_differences(found, Severity::note, "nodes have different container runtimes",
                     "upgrade the runtime of the older nodes", out);
}

void driver_skew(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  ByValue found;
  for (const facts::Node& node : *nodes) {
    const facts::Facts* host = host_of(w, node.name);
    std::string driver = host && host->nvidia.driver ? host->nvidia.driver->version
                                                     : label(node, "nvidia.com/cuda.driver-version.full");
    if (!driver.empty()) found[driver].push_back(node.name);
  }
  if (found.empty()) return out.skip("no node reports its driver's version");
  report_differences(found, Severity::note, "nodes have different NVIDIA drivers",
                     "install one driver version on all GPU nodes", out);
}

constexpr std::array cluster_nodes_rows = std::to_array<Check>({
    {.id = "cl.nodes-ready",
     .title = "every node is ready",
     .why = "pods run only on ready nodes",
     .reads = "nodes leases clock",
     .stages = in_cluster,
     .whole = nodes_ready},
    {.id = "cl.nodes-taints",
     .title = "no node rejects pods unintentionally",
     .why = "pods stay Pending otherwise",
     .reads = "nodes pods daemonsets",
     .stages = in_cluster,
     .whole = taints},
    {.id = "kubelet.clock-drift",
     .title = "every kubelet renews its lease",
     .why = "the control plane marks a node without a lease NotReady",
     .reads = "paths leases clock",
     .stages = in_cluster,
     .whole = clock_drift},
    {.id = "cl.node-labels-unique",
     .title = "every node has its own address",
     .why = "otherwise traffic reaches the wrong host",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = unique},
    {.id = "cl.node-os-uniform",
     .title = "all nodes have the same system and kernel",
     .why = "problems differ by kernel",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = os_uniform},
    {.id = "cl.containerd-skew",
     .title = "all nodes have the same runtime version",
     .why = "problems differ by version",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = containerd_skew},
    {.id = "cl.driver-version-skew",
     .title = "all GPU nodes have the same driver version",
     .why = "problems differ by driver",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = driver_skew},
});

}  // namespace

std::span<const Check> cluster_nodes_checks() {
  return cluster_nodes_rows;
}

}  // namespace checks
