#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/last_lines.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

/// The nodes, one by one and compared.
namespace checks {

namespace {

/// What the kubelet or the node controller says of a node that is not ready (pkg/kubelet/nodestatus,
/// pkg/controller/nodelifecycle).
constexpr std::array node_messages = {
    KnownLine{"cni plugin not initialized", "the network plugin has written no configuration",
              "kubectl -n kube-system get pods -o wide, and read the log of the network plugin's pod on the "
              "node; without one: gpuadm init --phases network"},
    KnownLine{"cni config uninitialized", "the network plugin has written no configuration",
              "kubectl -n kube-system get pods -o wide, and read the log of the network plugin's pod on the "
              "node; without one: gpuadm init --phases network"},
    KnownLine{"pleg is not healthy", "the container runtime answers too slowly",
              "on the node: systemctl restart containerd; look for a container or a disk that hangs (dmesg | "
              "grep 'blocked for more')"},
    KnownLine{"container runtime is down", "the container runtime does not answer",
              "on the node: systemctl restart containerd; journalctl -u containerd -n 50"},
    KnownLine{"container runtime status check may not have completed", "the kubelet has just started",
              "wait a minute; if it stays: journalctl -u kubelet -n 50 on the node"},
    KnownLine{
        "stopped posting node status", "its kubelet no longer reports to the API server",
        "on the node: systemctl status kubelet; journalctl -u kubelet -n 50; if the kubelet runs, the node "
        "does not reach the API server, or its name or clock has changed"},
};

/// Why the kubelet of a node does not report, as far as its host shows it: cause, evidence and remedy.
struct HostReason {
  std::string message, evidence, remedy;
};
std::optional<HostReason> reason_on_host(const Whole& w, const facts::Node& node) {
  const facts::Facts* host = host_of(w, node.name);
  if (!host && w.hosts.size() == 1) host = w.hosts.begin()->second;
  if (!host) return std::nullopt;
  const std::string own = base::lower(host->machine.hostname);
  const bool is_it = host->kubernetes.node_name.empty() ? own.starts_with(node.name + ".")
                                                        : host->kubernetes.node_name == node.name;
  if (is_it && !own.empty() && own != node.name &&
      !host->kubernetes.kubelet_flags.contains("--hostname-override"))
    return HostReason{
        "its host is now called " + own, "/proc/sys/kernel/hostname: " + own,
        fmt::format("on the host: hostnamectl set-hostname {}, then: systemctl restart kubelet", node.name)};
  if (const auto& states = host->kubernetes.pod_states; states && !states->kubelet_fatal.empty()) {
    const LastLine last{states->kubelet_fatal, known_of(states->kubelet_fatal, kubelet_lines())};
    return HostReason{"its kubelet exits: " + last.message(), last.evidence("journal of kubelet.service"),
                      last.remedy("journalctl -u kubelet -n 50 on the node")};
  }
  if (const auto unit = host->software.units.find("kubelet.service");
      unit != host->software.units.end() && unit->second.active != "active" && !unit->second.active.empty())
    return HostReason{"its kubelet does not run", "kubelet.service is " + unit->second.active,
                      "on the node: systemctl restart kubelet; journalctl -u kubelet -n 50"};
  return std::nullopt;
}

void not_ready(const Whole& w, const facts::Node& node, const std::string& reason, Verdicts& out) {
  const KnownLine* known = known_of(node.message, node_messages);
  const auto on_host = reason_on_host(w, node);
  const std::string why = on_host                ? on_host->message
                          : known                ? std::string(known->cause)
                          : node.message.empty() ? reason
                                                 : node.message;
  std::string evidence = fmt::format("{}: {}", reason, node.message);
  if (on_host) evidence += "; " + on_host->evidence;
  out.fail(Severity::blocker, fmt::format("node {} is not ready: {}", node.name, base::printable(why, 200)),
           evidence,
           on_host ? on_host->remedy
           : known
               ? std::string(known->remedy)
               : fmt::format("on the node: systemctl status kubelet containerd; journalctl -u kubelet -n 50; "
                             "kubectl describe node {}",
                             node.name));
}

/// Warnings about nodes that end by themselves, or that another check or an add-on judges.
bool is_usual(const std::string& reason) {
  constexpr std::string_view reasons[] = {"InvalidDiskCapacity", "Rebooted", "NodeNotReady", "CgroupV1",
                                          "EvictionThresholdMet"};
  return reason.starts_with("GPU") || std::ranges::find(reasons, reason) != std::end(reasons);
}

/// What Kubernetes reports of a node again and again.
void node_events(const Whole& w, Verdicts& out) {
  constexpr int often = 5;
  const auto* events = given(w.facts.events, out, "the events");
  if (!events) return;
  for (const facts::Event& event : *events) {
    if (event.kind != "Node" || event.count < often) continue;
    const std::string evidence = fmt::format("{} events {}: {}", event.count, event.reason, event.message);
    if (event.reason == "CIDRNotAvailable")
      out.fail(
          Severity::blocker,
          fmt::format("node {} gets no range of pod addresses: all are given to other nodes", event.name),
          evidence,
          "delete Node objects of hosts that are gone (kubectl get nodes); a larger --cluster-cidr, or a "
          "larger --node-cidr-mask-size, in kube-controller-manager's manifest");
    else
      out.fail(is_usual(event.reason) ? Severity::note : Severity::warning,
               fmt::format("node {}: {}: {}", event.name, event.reason, event.message), evidence,
               fmt::format("kubectl describe node {}; gpuadm doctor --stage node on it", event.name));
  }
}

void nodes_ready(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::Node& node : *nodes)
    for (const auto& [type, condition] : node.conditions) {
      const bool bad = type == "Ready" ? condition.status != "True" : condition.status == "True";
      const bool known = type == "Ready" || type == "NetworkUnavailable" || type.ends_with("Pressure");
      if (bad && known && type == "Ready")
        not_ready(w, node, condition.reason, out);
      else if (bad && known)
        out.fail(type == "NetworkUnavailable" ? Severity::blocker : Severity::warning,
                 fmt::format("node {} reports {}", node.name, type), condition.reason,
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
    {.id = "cl.node-events",
     .title = "no warning about a node is repeated",
     .why = "Kubernetes repeats what it cannot do for a node",
     .reads = "nodes events",
     .stages = in_cluster,
     .whole = node_events},
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
