#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_use.hpp"

#include <algorithm>

namespace facts {

namespace {

bool is_in(std::string_view full_name, std::string_view ns) {
  return !ns.empty() && full_name.starts_with(std::string(ns) + "/");
}

}  // namespace

GpuUsage gpu_usage(const ClusterFacts& cluster, const Node& node, const std::string& resource,
                   std::string_view ignored) {
  GpuUsage usage;
  if (const auto place = node.allocatable.find(resource); place != node.allocatable.end())
    usage.all = base::to_int(place->second).value_or(0);
  if (!cluster.pods) return usage;
  for (const Pod& pod : *cluster.pods) {
    const auto held = pod.gpus.find(resource);
    if (pod.node != node.name || held == pod.gpus.end() || pod.phase == "Succeeded" ||
        pod.phase == "Failed" || is_in(pod.full(), ignored))
      continue;
    usage.held += held->second;
    usage.uses.push_back({pod.full(), held->second});
  }
  return usage;
}

GpuUsage claimed_gpu_usage(const ClusterFacts& cluster, std::string_view node, Devices which,
                           std::string_view ignored) {
  GpuUsage usage;
  for (const GpuDevice& device : gpu_devices(cluster, node)) {
    const bool mig = device.device.type == "mig";
    if ((which == Devices::gpus && mig) || (which == Devices::mig_instances && !mig)) continue;
    if (!device.taint.empty()) continue;
    ++usage.all;
    if (device.claim.empty() || is_in(device.claim, ignored)) continue;
    ++usage.held;
    if (device.pods.empty()) usage.uses.push_back({"claim " + device.claim});
    for (const std::string& pod : device.pods) usage.uses.push_back({pod});
  }
  return usage;
}

std::string claim_version(const ClusterFacts& cluster) {
  if (cluster.dra_versions)
    for (const char* known : {"v1", "v1beta2", "v1beta1"})
      if (std::ranges::find(*cluster.dra_versions, known) != cluster.dra_versions->end()) return known;
  return "";
}

}  // namespace facts
