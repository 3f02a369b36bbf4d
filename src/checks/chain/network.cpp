#include "gpuadm/base/network.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/chain/words.hpp"
#include "checks/cluster/whole.hpp"

#include <algorithm>

/// The chain's links that are tested by pods on every node: results of the network test, and the likely
/// cause.
namespace checks {

namespace {

using facts::NetworkNode;
using facts::NetworkResult;
using report::Finding;
using Kind = NetworkResult::Kind;

const std::vector<std::string>* routes_of(const NetworkView& view, std::string_view node) {
  const auto place = std::ranges::find(view.routes, node, &facts::PodRoutes::node);
  return place == view.routes.end() ? nullptr : &place->lines;
}

bool mentions(const std::vector<std::string>* routes, std::string_view text) {
  return routes &&
         std::ranges::any_of(*routes, [&](const std::string& line) { return contains(line, text); });
}

/// Whether a route other than the default one leads to the address; true if the routes were not read.
bool has_route(const std::vector<std::string>* routes, const std::string& address) {
  const auto to = base::Cidr::parse(address);
  if (!routes || !to) return true;
  return std::ranges::any_of(*routes, [&](const std::string& line) {
    const auto route = base::Cidr::parse(line.substr(0, line.find(' ')));
    return route && route->v6 == to->v6 && route->prefix > 0 && route->contains(*to);
  });
}

/// The obstacle for packets between the pods of two nodes, with a remedy.
struct Cause {
  std::string text, remedy;
};

/// flannel's VXLAN uses UDP port 8472 and takes 50 bytes of each packet (flannel, Documentation/backends.md).
Cause cause_of(const NetworkNode& from, const NetworkNode& to, const NetworkResult& result,
               const NetworkView& view) {
  const auto* routes = routes_of(view, from.name);
  const bool vxlan = mentions(routes, "flannel.1");
  const std::string between =
      fmt::format("{} ({}) and {} ({})", from.name, from.address, to.name, to.address);
  if (!has_route(routes, to.pod_address)) {
    const auto given = base::Cidr::parse(to.pod_cidr), taken = base::Cidr::parse(to.pod_address);
    if (given && taken && given->v6 == taken->v6 && !given->contains(*taken))
      return {fmt::format("{} has no route to {}, which is outside {}, the pod range of {}", from.name,
                          to.pod_address, to.pod_cidr, to.name),
              fmt::format("/etc/cni/net.d on {} should name {}, or {} needs a route to the range it names",
                          to.name, to.pod_cidr, from.name)};
    const std::string range = to.pod_cidr.empty() ? to.pod_address : to.pod_cidr;
    return {fmt::format("{} has no route to {}, the pods of {}", from.name, range, to.name),
            vxlan ? fmt::format("kubectl -n kube-flannel get pods -o wide, and the log of the one on {}",
                                from.name)
                  : fmt::format("gpuadm apply -f FILE; `ip route` on {} must then have {} via {}", from.name,
                                range, to.address)};
  }
  if (contains(result.message, "bytes came back"))
    return {
        "large packets are lost between pods: the MTU of the pod network is too large",
        vxlan ? fmt::format("ip link show flannel.1 on both nodes: its MTU must be 50 below that of the "
                            "interface between {}",
                            between)
              : fmt::format("compare the MTU of the pods' bridge with that of the path between {}", between)};
  if (contains(result.message, "refused"))
    return {fmt::format("another machine has the address {}", to.pod_address),
            fmt::format("ip route get {} on {}: network.podCIDR must not overlap another network",
                        to.pod_address, from.name)};
  if (vxlan)
    return {"UDP port 8472 (VXLAN) is probably blocked between the nodes",
            fmt::format("allow UDP port 8472 between {}, in both directions: host firewalls, security groups",
                        between)};
  return {"packets with pod addresses are probably dropped between the nodes",
          fmt::format("allow pod addresses between {}, in both directions: iptables -S FORWARD on both, host "
                      "firewalls, security groups, the source check of a cloud",
                      between)};
}

std::vector<const NetworkResult*> failures(const NetworkNode& node, Kind kind) {
  std::vector<const NetworkResult*> found;
  for (const NetworkResult& result : node.results)
    if (result.kind == kind && !result.passed) found.push_back(&result);
  return found;
}

std::size_t count(const NetworkNode& node, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(node.results, kind, &NetworkResult::kind));
}

Finding peers_broken(const GpuNode& on, const NetworkNode& node, const NetworkView& view,
                     const std::vector<const NetworkResult*>& failed) {
  std::vector<std::string> names, texts;
  Cause cause;
  for (const NetworkResult* result : failed) {
    const NetworkNode* to = view.proof.node_of_pod(result->target);
    names.push_back(to ? to->name : result->target);
    texts.push_back(
        to ? fmt::format("{} on {} ({}): {}", result->target, to->name, to->address, result->message)
           : fmt::format("{}: {}", result->target, result->message));
    if (to && cause.text.empty()) cause = cause_of(node, *to, *result, view);
  }
  texts.resize(std::min<std::size_t>(texts.size(), 4));
  return broken(Link::network, on,
                fmt::format("a pod on {} does not reach {} on {}", on.node,
                            names.size() == 1 ? "a pod" : "pods", some(names)),
                base::join(texts, "; ") + (cause.text.empty() ? "" : "; " + cause.text), cause.remedy);
}

bool has_peer(const NetworkNode& node, const facts::NetworkProof& proof) {
  return std::ranges::any_of(proof.nodes, [&](const NetworkNode& other) {
    return other.name != node.name && other.phase == "Running" && !other.pod_address.empty();
  });
}

Finding check_network(const GpuNode& on, const NetworkNode& node, const NetworkView& view) {
  if (const auto failed = failures(node, Kind::peer); !failed.empty())
    return peers_broken(on, node, view, failed);
  if (const auto failed = failures(node, Kind::api); !failed.empty())
    return broken(
        Link::network, on,
        fmt::format("a pod on {} does not reach the API server through its Service", on.node),
        fmt::format("{}: {}", failed.front()->target, failed.front()->message),
        "kubectl -n kube-system get pods -l k8s-app=kube-proxy -o wide, and the log of the one on the node");
  const std::size_t peers = count(node, Kind::peer);
  if (count(node, Kind::api) == 0 || (peers == 0 && has_peer(node, view.proof)))
    return broken(Link::network, on, "the program in the pod ended without its results", "",
                  "kubectl describe node " + on.node);
  if (peers == 0 && view.proof.nodes.size() > 1)
    return untried(Link::network, on, "no pod runs on another node");
  const std::string others =
      peers == 0 ? "the only node tested"
                 : fmt::format("reaches pods on {} other node{}", peers, peers == 1 ? "" : "s");
  return holds(Link::network, on,
               fmt::format("{}: {}; reaches the API server's Service", node.pod_address, others));
}

Finding check_dns(const GpuNode& on, const NetworkNode& node) {
  const auto result = std::ranges::find(node.results, Kind::dns, &NetworkResult::kind);
  if (result == node.results.end())
    return broken(Link::dns, on, "the program in the pod ended without its results", "",
                  "kubectl describe node " + on.node);
  if (!result->passed)
    return broken(Link::dns, on, fmt::format("a pod on {} does not resolve {}", on.node, result->target),
                  result->message,
                  "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide, and their logs");
  return holds(Link::dns, on, fmt::format("{} by {}", result->name, result->server));
}

/// Whether an error of `kubectl exec` is about the connection from the API server to the kubelet.
bool is_unreachable(std::string_view error) {
  return contains(error, "dial tcp") || contains(error, "i/o timeout") ||
         contains(error, "error dialing backend");
}

/// Why the node has no result, if it has none.
std::optional<Finding> without_pod(Link link, const GpuNode& on, const NetworkNode* node) {
  if (!node || node->ready.empty())
    return broken(link, on, "the cluster has no such node", on.node, "kubectl get nodes");
  if (node->ready != "True")
    return broken(link, on, fmt::format("the node {} is not Ready", on.node), node->message,
                  "kubectl describe node " + on.node);
  if (node->phase != "Running" || node->pod_address.empty())
    return broken(
        link, on, fmt::format("the pod on {} does not run", on.node),
        node->trouble.empty() ? "it is " + (node->phase.empty() ? "missing" : node->phase) : node->trouble,
        fmt::format("gpuadm doctor --stage cluster, and the kubelet's log on {}", on.node));
  if (!node->exec_error.empty())
    return broken(
        link, on, fmt::format("no program can be run in the pod on {}", on.node), node->exec_error,
        is_unreachable(node->exec_error)
            ? fmt::format("allow TCP port 10250 (kubelet) from the control planes to {}", node->address)
            : "read the log of the container runtime on " + on.node);
  return std::nullopt;
}

}  // namespace

Finding examine_network(Link link, const GpuNode& on, const NetworkView& view) {
  const NetworkNode* tested = view.proof.node(on.node);
  if (auto wrong = without_pod(link, on, tested)) return std::move(*wrong);
  if (link == Link::network) return check_network(on, *tested, view);
  if (view.proof.dns_absent)
    return untried(link, on,
                   "the cluster has no DNS: no Service in kube-system has the label k8s-app=kube-dns");
  return check_dns(on, *tested);
}

}  // namespace checks
