#pragma once

#include "app/workload/reach.hpp"

#include <chrono>
#include <string>

namespace app {

/// What wait_ready waits for: the pod of a Deployment with this name and these labels.
struct AwaitedPod {
  std::string space, name, selector;
};

/// Waits until the pod is ready, and reports what it waits for, on one line for each state. Returns the node.
/// Fault::remote if it cannot become ready, Fault::timeout after `patience`, both with the explanation of the
/// pod and its fix; Fault::interrupted.
[[nodiscard]] Result<std::string> wait_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                                             std::chrono::seconds patience, Io& io);

}  // namespace app
