#include "kube/pod/nodes.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

using facts::Node;
using facts::Taint;

bool matches(const NodeRequirement& requirement, const Node& node) {
  std::optional<std::string> value;
  if (requirement.is_field)
    value = requirement.key == "metadata.name" ? std::optional(node.name) : std::nullopt;
  else if (const auto place = node.labels.find(requirement.key); place != node.labels.end())
    value = place->second;
  const bool listed = value && std::ranges::find(requirement.values, *value) != requirement.values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  if (requirement.op == "Exists") return value.has_value();
  if (requirement.op == "DoesNotExist") return !value;
  if (!value || requirement.values.empty()) return false;
  const auto number = base::to_int(*value), bound = base::to_int(requirement.values.front());
  if (!number || !bound) return false;
  return requirement.op == "Gt" ? number.value_or(0) > bound.value_or(0)
                                : number.value_or(0) < bound.value_or(0);
}

bool tolerates(const Pod& pod, const Taint& taint) {
  return std::ranges::any_of(pod.tolerations, [&](const facts::Toleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.key.empty()) return one.op == "Exists";
    if (one.key != taint.key) return false;
    return one.op == "Exists" || one.value == taint.value;
  });
}

std::string text_of(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

void add_taints(const Context& context, const Node& node, std::vector<Misfit>& found) {
  for (const Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || tolerates(context.pod, taint)) continue;
    const auto add = [&](Obstacle obstacle, std::string detail) {
      if (std::ranges::find(found, obstacle, &Misfit::obstacle) == found.end() || obstacle == Obstacle::taint)
        found.push_back({obstacle, std::move(detail), {}, 0, 0});
    };
    const std::string_view key = taint.key;
    if (key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/unreachable" ||
        key == "node.kubernetes.io/network-unavailable")
      add(Obstacle::not_ready, node.message);
    else if (key == "node.kubernetes.io/unschedulable")
      add(Obstacle::cordoned, "");
    else if (key.starts_with("node.kubernetes.io/") && key.ends_with("-pressure"))
      add(Obstacle::pressure, std::string(key.substr(19)));
    else if (key == "node-role.kubernetes.io/control-plane" || key == "node-role.kubernetes.io/master")
      add(Obstacle::control_plane, text_of(taint));
    else
      add(Obstacle::taint, text_of(taint));
  }
}

/// The node affinity of the volumes behind the pod's claims.
void add_volumes(const Context& context, const Node& node, std::vector<Misfit>& found) {
  if (!context.view.volumes) return;
  for (const PodVolume& volume : context.pod.volumes) {
    if (volume.kind != "persistentVolumeClaim") continue;
    for (const PodVolumeObject& object : *context.view.volumes)
      if (object.claim == context.pod.ns + "/" + volume.source && object.has_node_terms &&
          !kube::pod::matches(object.node_terms, node))
        found.push_back({Obstacle::volume,
                         fmt::format("volume {} of claim {} is only on nodes with {}", object.name,
                                     volume.source, kube::pod::text_of(object.node_terms)),
                         {},
                         0,
                         0});
  }
}

}  // namespace

bool matches(const std::vector<NodeTerm>& terms, const Node& node) {
  return std::ranges::any_of(terms, [&](const NodeTerm& term) {
    return !term.empty() &&
           std::ranges::all_of(term, [&](const NodeRequirement& one) { return matches(one, node); });
  });
}

std::string text_of(const std::vector<NodeTerm>& terms) {
  std::vector<std::string> any;
  for (const NodeTerm& term : terms) {
    std::vector<std::string> all;
    for (const NodeRequirement& one : term)
      all.push_back(one.op == "In" && one.values.size() == 1 ? one.key + "=" + one.values.front()
                    : one.values.empty()
                        ? one.key + " " + one.op
                        : fmt::format("{} {} [{}]", one.key, one.op, base::join(one.values, " ")));
    any.push_back(base::join(all, ", "));
  }
  return base::join(any, ", or ");
}

bool is_gpu(std::string_view resource) {
  return resource.starts_with("nvidia.com/");
}

bool is_claimed(const Node& node, std::string_view resource) {
  return resource == "nvidia.com/gpu" && !node.allocatable.contains(std::string(resource));
}

double capacity(const PodView& view, const Node& node, const std::string& resource) {
  if (const auto place = node.allocatable.find(resource); place != node.allocatable.end())
    return parse_quantity(place->second).value_or(0) * (resource == "cpu" ? 1000 : 1);
  if (resource != "nvidia.com/gpu") return 0;
  return static_cast<double>(facts::gpu_devices(view.cluster, node.name).size());
}

double used(const PodView& view, const Node& node, const std::string& resource) {
  double sum = 0;
  if (is_claimed(node, resource))
    return static_cast<double>(
        std::ranges::count_if(facts::gpu_devices(view.cluster, node.name),
                              [](const auto& device) { return !device.claim.empty(); }));
  if (!view.uses) return sum;
  for (const PodUse& use : *view.uses) {
    if (use.node != node.name || !use.is_active()) continue;
    if (resource == "pods") ++sum;
    if (const auto place = use.requests.find(resource); place != use.requests.end()) sum += place->second;
  }
  return sum;
}

std::vector<Misfit> misfits(const Context& context, const Node& node) {
  std::vector<Misfit> found;
  for (const auto& [key, value] : context.pod.node_selector)
    if (const auto place = node.labels.find(key); place == node.labels.end() || place->second != value)
      found.push_back({Obstacle::selector, key + "=" + value, {}, 0, 0});
  if (context.pod.has_node_terms && !matches(context.pod.node_terms, node))
    found.push_back({Obstacle::affinity, text_of(context.pod.node_terms), {}, 0, 0});
  add_volumes(context, node, found);
  if (!facts::is_ready(node)) found.push_back({Obstacle::not_ready, node.message, {}, 0, 0});
  if (node.unschedulable) found.push_back({Obstacle::cordoned, "", {}, 0, 0});
  add_taints(context, node, found);
  auto requests = context.pod.requests;
  requests["pods"] = 1;
  if (!context.view.uses) return found;
  for (const auto& [resource, amount] : requests) {
    const double free = capacity(context.view, node, resource) - used(context.view, node, resource);
    if (amount > free + 1e-6)
      found.push_back({Obstacle::resource, "", resource, amount, std::max(0.0, free)});
  }
  // GPUs are the reason that matters, if several resources are in use.
  std::ranges::stable_sort(found, {}, [](const Misfit& one) {
    return one.obstacle != Obstacle::resource ? 0 : one.resource.find('/') != std::string::npos ? 1 : 2;
  });
  return found;
}

}  // namespace kube::pod
