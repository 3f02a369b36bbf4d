#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"

#include <span>
#include <string>
#include <vector>

/// `gpuadm gpu top --idle`: who holds GPUs and does not use them. Pure.
namespace cluster {

/// A pod that holds GPUs and does not use them.
struct IdleRow {
  std::string node, ns, pod;   ///< ns and pod: empty if the pod may not be read
  std::string kind, workload;  ///< its labels gpuadm.io/kind and gpuadm.io/name; empty: none
  long long gpus = 0;          ///< GPUs, shares or MIG instances in its limits; 0: unknown, or a claim
  std::string since;           ///< RFC 3339
};
struct IdleTable {
  std::vector<IdleRow> rows;         ///< the longest idle first
  std::vector<std::string> unknown;  ///< nodes with GPUs that do not report it now
};
/// From the Nodes and the pods of the cluster, or of one namespace.
[[nodiscard]] IdleTable idle_table(std::span<const base::Tree> nodes, std::span<const base::Tree> pods,
                                   base::Time now);
[[nodiscard]] std::string to_text(const IdleTable& table, base::Time now, std::size_t width);
[[nodiscard]] base::Tree to_tree(const IdleTable& table);

}  // namespace cluster
