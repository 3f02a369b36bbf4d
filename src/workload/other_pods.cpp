#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/overview.hpp"
#include "gpuadm/kube/verdict.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include <map>
#include <set>

namespace workload {

namespace {

using base::Tree;

/// The pods of workloads, as namespace/name.
std::set<std::string> pods_of_workloads(std::span<const Tree> objects) {
  std::set<std::string> names;
  for (const Tree& object : objects) {
    const Tree* ns = object.at({"metadata", "namespace"});
    const Tree* name = object.at({"metadata", "name"});
    const Tree* labels = object.at({"metadata", "labels"});
    if (ns && name && labels && labels->find(kind_label)) names.insert(ns->text() + "/" + name->text());
  }
  return names;
}

/// Pods that gpuadm creates for a moment: its tests, and the pod that shows that GPUs are offered.
bool is_of_gpuadm(const facts::Pod& pod) {
  return pod.ns == "gpuadm-verify" || (pod.ns == "kube-system" && pod.name.starts_with("gpuadm-gpu-"));
}

/// The devices that pods have by claims, as namespace/name.
std::map<std::string, long long> claimed_devices(const facts::ClusterFacts& cluster) {
  std::map<std::string, long long> counts;
  if (!cluster.nodes) return counts;
  for (const facts::Node& node : *cluster.nodes)
    for (const facts::GpuDevice& device : facts::gpu_devices(cluster, node.name))
      for (const std::string& pod : device.pods) ++counts[pod];
  return counts;
}

}  // namespace

std::vector<WorkloadRow> other_gpu_rows(const facts::ClusterFacts& cluster, std::span<const Tree> objects) {
  std::vector<WorkloadRow> rows;
  if (!cluster.pods) return rows;
  const std::set<std::string> known = pods_of_workloads(objects);
  const std::map<std::string, long long> claimed = claimed_devices(cluster);
  for (const facts::Pod& pod : *cluster.pods) {
    if (pod.phase == "Succeeded" || pod.phase == "Failed" || is_of_gpuadm(pod)) continue;
    const auto devices = claimed.find(pod.full());
    long long gpus = devices == claimed.end() ? 0 : devices->second;
    // Where GPUs are allocated by claims, the scheduler makes one for a pod that requests nvidia.com/gpu.
    for (const auto& [resource, count] : pod.gpus)
      if (devices == claimed.end() || resource != "nvidia.com/gpu") gpus += count;
    if (gpus == 0 || known.contains(pod.full())) continue;
    WorkloadRow row;
    row.kind = "pod";
    row.ns = base::printable(pod.ns, 253);
    row.name = base::printable(pod.name, 253);
    const kube::PodVerdict verdict = kube::judge(kube::pod_of(pod));
    row.why = verdict.text;
    row.state = verdict.outlook == kube::Outlook::hopeless  ? "failed"
                : verdict.stage == kube::Stage::unscheduled ? "waiting for a node"
                : pod.phase == "Running"                    ? "running"
                                                            : "starting";
    row.gpus = std::to_string(gpus);
    row.node = base::printable(pod.node, 253);
    row.runs = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace workload
