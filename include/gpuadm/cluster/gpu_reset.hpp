#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/gpu_sample.hpp"
#include "gpuadm/facts/gpu_users.hpp"
#include "gpuadm/report/finding.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// `gpuadm gpu reset`: what is decided about the reset of one GPU. Pure.
namespace cluster {

/// A reset that has begun and has not ended, by the annotation of its node.
struct PendingReset {
  std::string uuid, slot;
};
[[nodiscard]] std::optional<PendingReset> pending_reset(const facts::Node& node);

/// Why a GPU cannot be reset alone, with what to do instead; nothing: it can. The rules for NVLink are those
/// of NVIDIA's manual of nvidia-smi, option --gpu-reset. `name`: of the host.
[[nodiscard]] std::optional<base::Error> reset_obstacle(const facts::Facts& host, const facts::Gpu& gpu,
                                                        const std::string& name);

/// What must leave a GPU before its reset.
struct GpuHolders {
  std::vector<const facts::Pod*> pods;  ///< to be evicted
  /// Programs that gpuadm does not end: "python3 (pid 4711)", "pod a/b (python3, pid 4711)".
  std::vector<std::string> others;
  bool all_gpu_pods = false;  ///< `pods` are all pods of the node with GPUs: whose this one is, is not known
};
/// `names`: the pods of the UIDs in `users`, as far as they run. The pods are those of `view`.
[[nodiscard]] GpuHolders gpu_holders(const facts::ClusterFacts& view, const std::string& node,
                                     const facts::Gpu& gpu, const facts::GpuUsers& users,
                                     const std::map<std::string, facts::PodName, std::less<>>& names);

/// The first pod that must not be evicted, with what to do; nothing: all may.
[[nodiscard]] std::optional<base::Error> eviction_obstacle(const std::vector<const facts::Pod*>& pods);

/// Forgets what the kernel's log of `before` already has: an error from before a reset says nothing about
/// the GPU after it.
void forget_log(facts::Facts& now, const facts::Facts& before);

/// What is wrong with a GPU after its reset; empty: nothing. `findings`: of the stage node, for `now`, with
/// the GPU not in quarantine.
[[nodiscard]] std::vector<std::string> trouble_after_reset(const facts::Facts& now, const facts::Gpu& gpu,
                                                           const std::vector<report::Finding>& findings);

}  // namespace cluster
