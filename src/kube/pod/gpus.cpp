#include "gpuadm/base/text.hpp"

#include "kube/pod/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kube::pod {

namespace {

using facts::DaemonSet;
using facts::Node;

/// gpuadm's and NVIDIA's DaemonSets of the device plugin.
std::vector<const DaemonSet*> device_plugins(const PodView& view) {
  std::vector<const DaemonSet*> found;
  if (view.cluster.daemon_sets)
    for (const DaemonSet& set : *view.cluster.daemon_sets)
      if (mentions(set.name, "nvidia-device-plugin")) found.push_back(&set);
  return found;
}

/// What the pods of a DaemonSet wait for.
std::vector<std::string> waiting_pods(const PodView& view, const DaemonSet& set) {
  std::vector<std::string> found;
  if (!view.uses) return found;
  for (const PodUse& use : *view.uses)
    if (use.ns == set.ns && use.name.starts_with(set.name + "-") && use.ready != "True")
      found.push_back(
          fmt::format("pod {}/{}: {}", use.ns, use.name, use.waiting.empty() ? use.phase : use.waiting));
  return found;
}

/// No node offers the resource at all.
PodLink no_gpus(const Context& context, const std::string& resource, double requested) {
  const PodView& view = context.view;
  const std::string wants = fmt::format("{} {} requested, and no node offers {}", pieces(requested, resource),
                                        is_are(requested), resource);
  const auto plugins = device_plugins(view);
  std::vector<std::string> others;
  for (const Node& node : *view.cluster.nodes)
    for (const auto& [name, amount] : node.allocatable)
      if (is_gpu(name) && parse_quantity(amount).value_or(0) > 0)
        others.push_back(fmt::format("node {} offers {} of {}", node.name, amount, name));
  if (!others.empty())
    return broken("scheduled", "gpu-resource-unknown", wants, others,
                  "request a resource that a node offers in resources.limits");
  if (!view.cluster.daemon_sets)
    return broken("scheduled", "no-gpus", wants, {"the DaemonSets could not be read"}, "gpuadm verify");
  if (plugins.empty())
    return broken("scheduled", "device-plugin-missing", wants + ": the device plugin is not installed",
                  {"no DaemonSet nvidia-device-plugin exists"}, "gpuadm apply -f cluster.yaml");
  const DaemonSet* set =
      *std::ranges::max_element(plugins, {}, [](const DaemonSet* one) { return one->desired; });
  if (set->desired == 0)
    return broken("scheduled", "device-plugin-on-no-node", wants + ": the device plugin runs on no node",
                  {fmt::format("DaemonSet {}/{} selects no node", set->ns, set->name)},
                  fmt::format("kubectl -n {} describe daemonset {}", set->ns, set->name));
  if (set->ready < set->desired) {
    std::vector<std::string> seen = {fmt::format("{} of {} pods of DaemonSet {}/{} are ready", set->ready,
                                                 set->desired, set->ns, set->name)};
    std::ranges::move(waiting_pods(view, *set), std::back_inserter(seen));
    return broken("scheduled", "device-plugin-not-ready", wants + ": the device plugin is not ready", seen,
                  fmt::format("kubectl -n {} logs daemonset/{} --all-containers", set->ns, set->name));
  }
  return broken("scheduled", "device-plugin-without-gpus",
                wants + ": the device plugin runs and reports no healthy GPU",
                {fmt::format("DaemonSet {}/{} is ready", set->ns, set->name)}, "gpuadm verify");
}

std::string holder_of(const PodUse& use) {
  return use.kind.empty() || use.workload.empty() ? use.ns + "/" + use.name : use.kind + "/" + use.workload;
}

void add_claim_holders(const PodView& view, const Node& node, std::vector<GpuHolder>& found) {
  for (const facts::GpuDevice& device : facts::gpu_devices(view.cluster, node.name))
    for (const std::string& full : device.pods) {
      const std::size_t slash = full.find('/');
      GpuHolder holder{full, full.substr(0, slash), full.substr(slash + 1), node.name, "nvidia.com/gpu", 1,
                       {}};
      if (view.uses)
        for (const PodUse& use : *view.uses)
          if (use.ns == holder.ns && use.name == holder.pod) {
            holder.holder = holder_of(use);
            holder.since = use.started;
          }
      const auto same = std::ranges::find_if(
          found, [&](const GpuHolder& one) { return one.pod == holder.pod && one.ns == holder.ns; });
      if (same == found.end())
        found.push_back(std::move(holder));
      else
        ++same->count;
    }
}

/// The owner of that kind and name.
const PodOwner* owner_named(const Context& context, std::string_view kind, std::string_view name) {
  if (!context.view.owners) return nullptr;
  for (const PodOwner& one : *context.view.owners)
    if (one.kind == kind && one.name == name) return &one;
  return nullptr;
}

}  // namespace

PodLink beyond_every_node(const Context& context, const std::string& resource, double requested,
                          double most) {
  if (most <= 0 && is_gpu(resource)) return no_gpus(context, resource, requested);
  std::vector<std::string> seen;
  for (const Node& node : *context.view.cluster.nodes)
    if (const double has = capacity(context.view, node, resource); has > 0 && seen.size() < 8)
      seen.push_back(fmt::format("node {} has {}", node.name, amount_text(has, resource)));
  if (is_gpu(resource))
    return broken(
        "scheduled", "more-gpus-than-any-node",
        fmt::format("{} {} requested, the largest node has {}", pieces(requested, resource),
                    is_are(requested), std::llround(most)),
        seen,
        fmt::format("request at most {}, or distribute the work: gpuadm train run --nodes N --gpus {}",
                    std::llround(most), std::llround(most)));
  if (most <= 0)
    return broken(
        "scheduled", "resource-unknown",
        fmt::format("{} {} requested, and no node offers {}", amount_text(requested, resource),
                    resource.find('/') == std::string::npos ? "is" : is_are(requested), resource),
        {},
        resource.starts_with("hugepages-")
            ? "reserve them on a node: sysctl -w vm.nr_hugepages=N, then systemctl restart kubelet"
            : "remove the resource from resources.limits, or install the device plugin that provides it");
  return broken("scheduled", "more-than-any-node",
                fmt::format("{} {} requested, the largest node has {}", amount_text(requested, resource),
                            resource == "cpu" ? "are" : "is", amount_text(most, resource)),
                seen, fmt::format("request at most {}", amount_text(most, resource)));
}

std::vector<GpuHolder> holders(const PodView& view, const Pod& pod) {
  std::vector<GpuHolder> found;
  if (!view.cluster.nodes || !view.uses) return found;
  for (const Node& node : *view.cluster.nodes) {
    for (const PodUse& use : *view.uses) {
      if (use.node != node.name || !use.is_active() || (use.ns == pod.ns && use.name == pod.name)) continue;
      for (const auto& [resource, amount] : use.requests)
        if (is_gpu(resource) && amount > 0 && !is_claimed(node, resource))
          found.push_back(
              {holder_of(use), use.ns, use.name, node.name, resource, std::llround(amount), use.started});
    }
    add_claim_holders(view, node, found);
  }
  return found;
}

std::optional<PodLink> update_waits_for_itself(const Context& context, const std::string& resource,
                                               const std::string& what, std::vector<std::string> seen) {
  const PodOwner* set = context.pod.owner_kind == "ReplicaSet"
                            ? owner_named(context, "ReplicaSet", context.pod.owner)
                            : nullptr;
  if (!set || set->owner_kind != "Deployment") return std::nullopt;
  for (const GpuHolder& holder : holders(context.view, context.pod)) {
    if (holder.resource != resource || holder.ns != context.pod.ns) continue;
    for (const PodOwner& other : *context.view.owners)
      if (other.kind == "ReplicaSet" && other.owner_kind == "Deployment" && other.owner == set->owner &&
          other.name != set->name && holder.pod.starts_with(other.name + "-"))
        return broken(
            "scheduled", "update-waits-for-itself",
            fmt::format("{}: the rolling update of Deployment {} waits for the GPU that its old pod {} holds",
                        what, set->owner, holder.pod),
            std::move(seen),
            fmt::format("use strategy: Recreate: kubectl -n {} patch deployment {} --type merge -p "
                        R"('{{"spec":{{"strategy":{{"type":"Recreate","rollingUpdate":null}}}}}}')",
                        context.pod.ns, set->owner));
  }
  return std::nullopt;
}

}  // namespace kube::pod
