#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/checks/chain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// The chain of `gpuadm verify` on one host with GPUs, as far as it is known without pods: the links from
/// driver to allocatable, up to the first broken one.
struct GpuChain {
  std::string host, node;
  int gpus = 0;
  std::vector<report::Finding> links;
};

/// One for each reachable host with GPUs. Without the nodes of the cluster it ends after nvml. `findings`:
/// of the stage node.
[[nodiscard]] std::vector<GpuChain> gpu_chains(const spec::Cluster& cluster, const facts::Census& census,
                                               const std::optional<facts::ClusterFacts>& view,
                                               std::span<const report::Finding> findings);

/// A list, with a state for every link (ok, skipped, broken, unknown, not reached), and the first open one.
[[nodiscard]] base::Tree to_tree(std::span<const GpuChain> chains);

}  // namespace cluster
