#pragma once

#include "gpuadm/base/tree.hpp"

#include "commands/workloads/reach.hpp"

namespace commands {

/// Replaces a live Deployment. Its resourceVersion changes with its status, so it is replaced nevertheless if
/// its generation, which changes with its settings, is still what was read. Fault::blocked if another program
/// has changed it.
[[nodiscard]] Result<> replace_deployment(const base::Tree& live, const base::Tree& made,
                                          ReachedCluster& cluster);

}  // namespace commands
