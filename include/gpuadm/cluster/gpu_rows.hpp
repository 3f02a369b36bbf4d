#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// Properties of one GPU. Unknown ones have a reason; they are never empty.
struct GpuRow {
  std::string host, node, slot, model, uuid, driver, sharing, health;
  std::vector<std::string> holders;   ///< pods as namespace/name, other programs as "name (pid N)"
  std::vector<std::string> findings;  ///< ids of its findings, the most severe first
  std::optional<bool> allocatable;    ///< nothing: no control plane was queried
  std::string why;                    ///< the reason if it is false
};

/// Number of GPUs of a host on the PCI bus, in its driver, and of its node (shares counted as one).
struct GpuCounts {
  std::string host;
  std::size_t pci = 0, driver = 0;
  std::optional<long long> allocatable;
};

struct GpuTable {
  std::vector<GpuRow> rows;
  std::vector<GpuCounts> counts;
};

/// Pods on a node that use GPUs, by their limits or by a claim, and have not ended.
[[nodiscard]] std::vector<const facts::Pod*> gpu_pods(const facts::ClusterFacts& view,
                                                      const std::string& node);

/// One row for each GPU of the reachable hosts. `findings` are those of the stages node and cluster.
[[nodiscard]] GpuTable gpu_table(const spec::Cluster& cluster, const facts::Census& census,
                                 const std::optional<facts::ClusterFacts>& view,
                                 const std::vector<report::Finding>& findings);

[[nodiscard]] base::Tree to_tree(const GpuRow& row);
[[nodiscard]] base::Tree to_tree(const GpuCounts& counts);
/// `gpus` and `hosts`.
[[nodiscard]] base::Tree to_tree(const GpuTable& table);

}  // namespace cluster
