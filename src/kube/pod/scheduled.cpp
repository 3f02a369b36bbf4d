#include "gpuadm/base/text.hpp"

#include "kube/pod/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace kube::pod {

namespace {

using facts::Node;

int weight(const Misfit& one) {
  switch (one.obstacle) {
    case Obstacle::control_plane:
      return 4;
    case Obstacle::selector:
    case Obstacle::affinity:
    case Obstacle::volume:
      return 2;
    default:
      return 1;
  }
}

/// The nodes that are nearest to taking the pod.
std::vector<NodeFit> nearest_nodes(const Context& context) {
  std::map<int, std::vector<NodeFit>> by_weight;
  for (const Node& node : *context.view.cluster.nodes) {
    NodeFit fit{&node, misfits(context, node)};
    int sum = 0;
    bool is_too_small = false;
    for (const Misfit& one : fit.misfits) {
      sum += weight(one);
      is_too_small = is_too_small || (one.obstacle == Obstacle::resource &&
                                      capacity(context.view, node, one.resource) < one.requested);
    }
    by_weight[sum + (is_too_small ? 100 : 0)].push_back(std::move(fit));
  }
  return by_weight.empty() ? std::vector<NodeFit>() : by_weight.begin()->second;
}

std::string holders_on(const Context& context, const Node& node, const std::string& resource) {
  std::vector<std::string> parts;
  for (const GpuHolder& holder : holders(context.view, context.pod))
    if (holder.node == node.name && holder.resource == resource)
      parts.push_back(
          fmt::format("{} holds {}{}", holder.holder, holder.count,
                      holder.since ? " since " + clock_text(*holder.since, context.view.cluster.clock) : ""));
  if (parts.size() > 4) {
    parts[3] = fmt::format("{} other pods hold the rest", parts.size() - 3);
    parts.resize(4);
  }
  return base::join(parts, ", ");
}

/// What frees the GPUs of the holder with the most.
std::string free_gpus(const Context& context, const std::vector<NodeFit>& nodes,
                      const std::string& resource) {
  const auto all = holders(context.view, context.pod);
  const GpuHolder* most = nullptr;
  for (const GpuHolder& one : all)
    if (one.resource == resource &&
        std::ranges::any_of(nodes, [&](const NodeFit& fit) { return fit.node->name == one.node; }) &&
        (!most || one.count > most->count))
      most = &one;
  if (!most) return "wait, or add a node with GPUs: gpuadm join";
  for (const std::string kind : {"notebook", "serve", "train"})
    if (most->holder.starts_with(kind + "/"))
      return fmt::format("wait, or gpuadm {} stop {} -n {}", kind, most->holder.substr(kind.size() + 1),
                         most->ns);
  return fmt::format("wait, or kubectl -n {} delete pod {}", most->ns, most->pod);
}

/// "2 GPUs are", "12 CPUs are", "40.0 GiB of memory is".
std::string amount_is(double amount, const std::string& resource) {
  const bool is_bytes = resource == "memory" || resource == "ephemeral-storage";
  return fmt::format("{} {}", amount_text(amount, resource),
                     is_bytes ? "is" : is_are(resource == "cpu" ? amount / 1000 : amount));
}

std::string free_text(const Context& context, const std::vector<NodeFit>& nodes,
                      const std::string& resource) {
  std::vector<std::string> parts;
  for (const NodeFit& fit : nodes) {
    const double free =
        std::max(0.0, capacity(context.view, *fit.node, resource) - used(context.view, *fit.node, resource));
    const std::string number =
        is_gpu(resource) ? fmt::format("{}", std::llround(free)) : amount_text(free, resource);
    if (nodes.size() == 1)
      return fmt::format(
          "{} free on {}",
          is_gpu(resource) ? fmt::format("{} {}", number, is_are(free)) : amount_is(free, resource),
          fit.node->name);
    if (parts.size() == 4) {
      parts.emplace_back("...");
      break;
    }
    parts.push_back(fmt::format("{} on {}", number, fit.node->name));
  }
  return "no node has as much free: " + base::join(parts, ", ");
}

PodLink resource_in_use(const Context& context, const std::vector<NodeFit>& nodes, const Misfit& first) {
  const std::string& resource = first.resource;
  const facts::Node& node = *nodes.front().node;
  if (resource == "pods")
    return broken("scheduled", "too-many-pods",
                  fmt::format("node {} runs its maximum of {}", node.name,
                              pieces(capacity(context.view, node, "pods"), "pods")),
                  {scheduler_message(context)}, "delete pods, add a node, or increase the kubelet's maxPods");
  std::vector<std::string> seen;
  for (const NodeFit& fit : nodes) {
    const std::string who = holders_on(context, *fit.node, resource);
    if (seen.size() < 6)
      seen.push_back(fmt::format("{} has {}{}", fit.node->name,
                                 amount_text(capacity(context.view, *fit.node, resource), resource),
                                 who.empty() ? "" : "; " + who));
  }
  seen.push_back(scheduler_message(context));
  const std::string what = fmt::format("{} requested, {}", amount_is(first.requested, resource),
                                       free_text(context, nodes, resource));
  if (is_gpu(resource)) {
    if (auto link = update_waits_for_itself(context, resource, what, seen)) return std::move(*link);
    return broken("scheduled", "gpus-in-use", what, seen, free_gpus(context, nodes, resource));
  }
  const bool is_known = resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
  return broken("scheduled", is_known ? "insufficient-" + resource : "insufficient-resource", what, seen,
                fmt::format("request less {}, or delete pods on {}", resource, node.name));
}

/// The values that nodes have for the key of a requirement "key=value".
std::vector<std::string> values_of(const Context& context, const std::string& label) {
  const std::string key = label.substr(0, label.find('='));
  std::vector<std::string> seen;
  for (const Node& node : *context.view.cluster.nodes) {
    const auto place = node.labels.find(key);
    if (seen.size() < 6)
      seen.push_back(place == node.labels.end()
                         ? fmt::format("node {} has no label {}", node.name, key)
                         : fmt::format("node {} has {}={}", node.name, key, place->second));
  }
  seen.push_back(scheduler_message(context));
  return seen;
}

PodLink obstacle_link(const Context& context, const std::vector<NodeFit>& nodes) {
  const Misfit& first = nodes.front().misfits.front();
  const std::string& node = nodes.front().node->name;
  const auto link = [&](std::string reason, std::string what, std::string fix) {
    std::vector<std::string> seen = {scheduler_message(context)};
    for (std::size_t i = 1; i < nodes.size() && i < 5; ++i)
      if (!nodes[i].misfits.empty() && nodes[i].misfits.front().obstacle == first.obstacle)
        seen.push_back(fmt::format("the same holds for node {}", nodes[i].node->name));
    return broken("scheduled", std::move(reason), std::move(what), std::move(seen), std::move(fix));
  };
  switch (first.obstacle) {
    case Obstacle::selector:
      return broken(
          "scheduled", "node-selector",
          fmt::format("no node that could take the pod has the label {}, which its nodeSelector requires",
                      first.detail),
          values_of(context, first.detail), fmt::format("kubectl label node {} {}", node, first.detail));
    case Obstacle::affinity:
      return link("node-affinity", "no node matches the pod's required node affinity: " + first.detail,
                  "change spec.affinity.nodeAffinity, or label a node");
    case Obstacle::volume:
      return link("volume-on-another-node", first.detail,
                  "use a volume that every node has: gpuadm storage add NAME nfs or cephfs");
    case Obstacle::not_ready:
      return link("node-not-ready",
                  fmt::format("node {} is not Ready{}", node,
                              first.detail.empty() ? "" : ": " + brief(first.detail, 160)),
                  fmt::format("gpuadm doctor {} --stage node", node));
    case Obstacle::cordoned:
      return link("cordoned", fmt::format("node {} is cordoned", node), "kubectl uncordon " + node);
    case Obstacle::control_plane:
    case Obstacle::taint:
      return link(
          "taint",
          fmt::format("node {} has the taint {}, and the pod does not tolerate it", node, first.detail),
          fmt::format("kubectl taint node {} {}-, or add a toleration to the pod", node,
                      first.detail.substr(0, first.detail.find_first_of("=:"))));
    case Obstacle::pressure:
      return link("node-pressure", fmt::format("node {} reports {}", node, first.detail),
                  fmt::format("gpuadm doctor {} --stage node", node));
    case Obstacle::resource:
      return resource_in_use(context, nodes, first);
  }
  return pending("scheduled", "unknown");
}

/// A resource that no node has enough of.
std::optional<PodLink> impossible(const Context& context) {
  for (const bool extended : {true, false})
    for (const auto& [resource, amount] : context.pod.requests) {
      if (amount <= 0 || (resource.find('/') != std::string::npos) != extended) continue;
      double most = 0;
      for (const Node& node : *context.view.cluster.nodes)
        most = std::max(most, capacity(context.view, node, resource));
      if (amount > most + 1e-6) return beyond_every_node(context, resource, amount, most);
    }
  return std::nullopt;
}

}  // namespace

PodLink scheduled(const Context& context) {
  if (!context.pod.node.empty()) return passed("scheduled", "on node " + context.pod.node);
  if (!context.pod.phase.empty() && context.pod.phase != "Pending")
    return passed("scheduled", "the pod has ended");
  if (auto link = gated(context)) return std::move(*link);
  if (auto claim = waits_for_claim(context)) return std::move(*claim);
  if (!context.view.cluster.nodes)
    return scheduler_message(context).empty() ? pending("scheduled", "the nodes could not be read")
                                              : by_scheduler(context);
  if (context.view.cluster.nodes->empty())
    return broken("scheduled", "no-nodes", "the cluster has no node", {}, "gpuadm join HOST");
  if (auto link = impossible(context)) {
    if (const std::string message = scheduler_message(context); !message.empty())
      link->seen.push_back(message);
    return std::move(*link);
  }
  const auto nodes = nearest_nodes(context);
  return nodes.front().misfits.empty() ? by_scheduler(context) : obstacle_link(context, nodes);
}

}  // namespace kube::pod
