#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <string>
#include <vector>

namespace app {

/// Workloads that end if hosts leave their cluster, and hosts that did not show theirs, with the reason.
struct RunningWorkloads {
  std::vector<std::string> lines;   ///< "notebook default/anna (1 GPU on gpu1)"
  std::vector<std::string> unread;  ///< "gpu1: the connection to the server was refused"
};

/// Reads them on these hosts. `leaving`: names of nodes; empty: the nodes that the hosts are. An error only
/// after Ctrl-C.
[[nodiscard]] Result<RunningWorkloads> running_workloads(const std::vector<std::string>& hosts,
                                                         std::vector<std::string> leaving,
                                                         transport::Fleet& fleet,
                                                         const assets::Store& assets);

/// Fault::blocked with all of them, unless `force`.
[[nodiscard]] Result<> refuse_to_strand(const RunningWorkloads& running, bool force);

}  // namespace app
