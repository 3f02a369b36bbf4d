#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/addon_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace workload {

namespace {

using base::Tree;
using kube::PodVerdict;

long long count_at(const Tree& object, std::initializer_list<std::string_view> path) {
  const Tree* found = object.at(path);
  return found ? found->as_int().value_or(0) : 0;
}

std::string part_of(const Tree& object) {
  const Tree* labels = object.at({"metadata", "labels"});
  return labels ? base::printable(text_of(*labels, part_label), 63) : "";
}

bool is_ending(const Tree& pod) {
  return pod.at({"metadata", "deletionTimestamp"}) != nullptr;
}

/// Whether the controller has seen the newest version of the object, and all pods are of that version.
bool is_rolled_out(const Tree& controller, bool daemon) {
  if (count_at(controller, {"status", "observedGeneration"}) <
      count_at(controller, {"metadata", "generation"}))
    return false;
  if (daemon) {
    const long long desired = count_at(controller, {"status", "desiredNumberScheduled"});
    return count_at(controller, {"status", "updatedNumberScheduled"}) >= desired &&
           count_at(controller, {"status", "numberReady"}) >= desired;
  }
  const Tree* replicas = controller.at({"spec", "replicas"});
  const long long desired = replicas ? replicas->as_int().value_or(1) : 1;
  return count_at(controller, {"status", "updatedReplicas"}) >= desired &&
         count_at(controller, {"status", "availableReplicas"}) >= desired &&
         count_at(controller, {"status", "replicas"}) == desired;
}

/// Of one Deployment or DaemonSet: the pod that is furthest from being ready.
PodVerdict worst_pod(const Tree& controller, std::span<const Tree> pods) {
  PodVerdict worst = kube::judge(std::span(&controller, 1));
  bool any = false;
  for (const Tree& pod : pods) {
    if (is_ending(pod) || part_of(pod) != part_of(controller)) continue;
    const PodVerdict verdict = kube::judge(kube::read_pod(pod));
    if (!any || std::pair(worst.outlook, verdict.stage) < std::pair(verdict.outlook, worst.stage))
      worst = verdict;
    any = true;
  }
  return worst;
}

}  // namespace

AddonState read_addon_state(std::span<const Tree> objects) {
  std::vector<Tree> pods;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "Pod") pods.push_back(object);
  AddonState state{.ready = true, .line = "ready"};
  for (const Tree& object : objects) {
    const std::string kind = text_of(object, "kind");
    if (kind != "Deployment" && kind != "DaemonSet") continue;
    state.exists = true;
    if (is_rolled_out(object, kind == "DaemonSet")) continue;
    const PodVerdict worst = worst_pod(object, pods);
    if (!state.ready && worst.outlook <= state.outlook) continue;
    // A pod that is ready belongs to the version before, or is not counted yet.
    const std::string line = worst.stage == kube::Stage::ready ? "waiting for the new pods" : describe(worst);
    state = {false, true, worst.outlook, part_of(object) + ": " + line, worst.text, worst.pod};
  }
  if (!state.exists) return {.ready = false, .line = "it has no Deployment or DaemonSet"};
  return state;
}

std::vector<std::pair<std::string, std::string>> pods_by_node(std::span<const Tree> objects) {
  std::map<std::string, std::string> pods;
  for (const Tree& object : objects)
    if (text_of(object, "kind") == "Pod" && !is_ending(object))
      if (const std::string node = text_at(object, {"spec", "nodeName"}); !node.empty())
        pods[node] = text_at(object, {"metadata", "name"});
  return {pods.begin(), pods.end()};
}

std::vector<std::string> ready_nodes(std::span<const Tree> nodes) {
  std::vector<std::string> names;
  for (const Tree& node : nodes) {
    const Tree* conditions = node.at({"status", "conditions"});
    if (conditions && std::ranges::any_of(conditions->items(), [](const Tree& one) {
          return text_of(one, "type") == "Ready" && text_of(one, "status") == "True";
        }))
      names.push_back(text_at(node, {"metadata", "name"}));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace workload
