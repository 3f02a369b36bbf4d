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

/// What is known of one GPU. What could not be known is said, never left empty.
struct GpuRow {
  std::string host, node, slot, model, uuid, driver, sharing, health;
  std::vector<std::string> holders;   ///< pods as namespace/name, other programs as "name (pid N)"
  std::vector<std::string> findings;  ///< ids of what is wrong with it, the gravest first
  std::optional<bool> allocatable;    ///< nothing: no control plane was asked
  std::string why;                    ///< where it is not true
};

/// How many GPUs a host has by the PCI bus, by its driver, and by its node (shares counted as one).
struct GpuCounts {
  std::string host;
  std::size_t pci = 0, driver = 0;
  std::optional<long long> allocatable;
};

struct GpuTable {
  std::vector<GpuRow> rows;
  std::vector<GpuCounts> counts;
};

/// Pods on a node that hold GPUs, by their limits or by a claim, and have not ended.
[[nodiscard]] std::vector<const facts::Pod*> gpu_pods(const facts::ClusterFacts& view,
                                                      const std::string& node);

/// One row for each GPU of the hosts that answered. `findings` are those of the stages node and cluster.
[[nodiscard]] GpuTable gpu_table(const spec::Cluster& cluster, const facts::Census& census,
                                 const std::optional<facts::ClusterFacts>& view,
                                 const std::vector<report::Finding>& findings);

[[nodiscard]] base::Tree to_tree(const GpuRow& row);
[[nodiscard]] base::Tree to_tree(const GpuCounts& counts);
/// `gpus` and `hosts`.
[[nodiscard]] base::Tree to_tree(const GpuTable& table);

}  // namespace cluster
