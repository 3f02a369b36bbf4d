#pragma once

#include "gpuadm/kube/verdict.hpp"

#include "commands/workloads/reach.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace commands {

/// What a wait has read.
struct ReadyProgress {
  bool ready = false;
  kube::Outlook outlook = kube::Outlook::waiting;
  std::string line;  ///< what it waits for
};

/// Reads, at most once a second, until it is ready, and reports what it waits for, on one line for each
/// state. The error of `not_ready`, for the last state that was read, if it cannot become ready
/// (Fault::remote), or is not within `timeout` (Fault::timeout); or that of `read`, unless it may be
/// repeated; or Fault::interrupted.
[[nodiscard]] Result<> wait_until_ready(ReachedCluster& cluster, std::chrono::seconds timeout,
                                        const std::function<Result<ReadyProgress>()>& read,
                                        const std::function<base::Error(base::Fault)>& not_ready, Io& io);

enum class AwaitedPods { all, one };
/// What wait_ready waits for: the pods of a Deployment with this name and these labels, or the newest one.
struct AwaitedPod {
  std::string ns, name, selector;
  AwaitedPods pods = AwaitedPods::all;
  /// What a container that runs and is not ready does, for the progress; empty: unknown.
  std::function<std::string(const kube::PodVerdict&)> running = {};
};

/// Waits until the pod is ready. Returns the node. Errors as of wait_until_ready, with the explanation of the
/// pod and its fix.
[[nodiscard]] Result<std::string> wait_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                                             std::chrono::seconds timeout, Io& io);

}  // namespace commands
