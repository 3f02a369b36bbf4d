#pragma once

#include "commands/workloads/reach.hpp"

namespace commands {

/// Prints the address of a notebook that is ready, and keeps a tunnel open if one is needed. `port`: of the
/// tunnel on this machine; 0: any that is free.
[[nodiscard]] Result<Outcome> open_notebook(ReachedCluster& cluster, const NotebookOptions& options,
                                            std::uint16_t port, Io& io);

}  // namespace commands
