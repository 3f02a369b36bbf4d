#pragma once

#include "app/workload/reach.hpp"

#include <chrono>
#include <string>

namespace app {

/// Waits until the pod of a Deployment is ready, and reports what it waits for, on one line for each state.
/// Returns the node. Fault::remote with the reason if it cannot become ready, Fault::timeout after
/// `patience`, Fault::interrupted.
[[nodiscard]] Result<std::string> wait_ready(ReachedCluster& cluster, const std::string& space,
                                             const std::string& selector, std::chrono::seconds patience,
                                             Io& io);

}  // namespace app
