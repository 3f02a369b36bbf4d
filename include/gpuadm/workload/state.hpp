#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/cluster.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// States of workloads, from the objects that the API server returns.
namespace workload {

/// A workload in a list.
struct WorkloadRow {
  std::string kind, ns, name;
  std::string state;  ///< "ready", "starting", "stopped", "2 of 4 ranks run", "Bound"
  std::string why;    ///< what is wrong, or why it was stopped; empty: nothing
  std::string gpus;   ///< "2", "1/4"; "0": none
  std::string node;   ///< of its pods, separated by commas
  std::string image, volume;
  double created = 0;  ///< seconds since the epoch; 0: unknown
  bool runs = false;   ///< it has a pod that has not ended
};

/// Kinds of objects that workload_rows needs.
[[nodiscard]] std::vector<std::string> workload_kinds();
/// A row for each workload, by its labels: sorted by kind, namespace and name.
[[nodiscard]] std::vector<WorkloadRow> workload_rows(std::span<const base::Tree> objects);
/// A row "pod" for each pod with GPUs that is not of a workload in `objects`: of users, who created it
/// without gpuadm.
[[nodiscard]] std::vector<WorkloadRow> other_gpu_rows(const facts::ClusterFacts& cluster,
                                                      std::span<const base::Tree> objects);
/// "5m", "3h", "12d"; empty: unknown.
[[nodiscard]] std::string age_of(const WorkloadRow& row, base::Time now);
[[nodiscard]] base::Tree to_tree(std::span<const WorkloadRow> rows);

/// A pod with GPUs that is not of a workload.
struct OtherGpuPod {
  std::string name, node;  ///< namespace/name
  long long gpus = 0;      ///< GPUs, shares of them or MIG instances
  bool claims = false;     ///< it requests devices by claims
};

/// What one host of a cluster reports of pods of workloads: playbooks/read/workloads.sh.
struct HostWorkloads {
  std::string node;                 ///< its node; empty: it is not a node
  std::vector<std::string> planes;  ///< all control-plane nodes of the cluster; empty: not known there
  std::vector<base::Tree> pods;     ///< of workloads
  std::vector<OtherGpuPod> others;
  bool silent = false;  ///< a control-plane node whose API server does not list the nodes
};
/// What precedes the pods, also in an output that ends before them.
[[nodiscard]] HostWorkloads parse_host_of_workloads(std::string_view output);
/// Fault::parse for output that is not this.
[[nodiscard]] base::Result<HostWorkloads> parse_host_workloads(std::string_view output,
                                                               const std::string& source);
/// Workloads whose pods end if these hosts leave the cluster: those with a pod on one of the nodes; all of
/// them, if all control-plane nodes leave; and other pods with GPUs. "notebook default/anna (1 GPU on gpu1)",
/// "pod default/mine (2 GPUs on gpu1)".
[[nodiscard]] std::vector<std::string> stranded(std::span<const HostWorkloads> hosts,
                                                std::span<const std::string> leaving);

}  // namespace workload
