#pragma once

#include "gpuadm/facts/cluster.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// Who holds GPUs.
struct GpuUse {
  std::string holder;  ///< a pod, "default/anna-0"; or a claim without pods, "claim default/anna"
  long long count = 1;
};
/// The GPUs, shares or MIG instances of one kind on a node.
struct GpuUsage {
  long long all = 0, held = 0;
  std::vector<GpuUse> uses;
  [[nodiscard]] long long free() const { return all > held ? all - held : 0; }
};

/// Those of a resource of the device plugin: the units that are allocatable, and the pods that have not
/// ended. `ignored`: a namespace whose pods do not count; empty: none.
[[nodiscard]] GpuUsage gpu_usage(const ClusterFacts& cluster, const Node& node, const std::string& resource,
                                 std::string_view ignored = {});

/// Those that are allocated by claims, without devices that a DeviceTaintRule keeps from new pods.
enum class Devices { all, gpus, mig_instances };
[[nodiscard]] GpuUsage claimed_gpu_usage(const ClusterFacts& cluster, std::string_view node, Devices which,
                                         std::string_view ignored = {});

/// The version of resource.k8s.io for claims; empty: the cluster has none that is known.
[[nodiscard]] std::string claim_version(const ClusterFacts& cluster);

}  // namespace facts
