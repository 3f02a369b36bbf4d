#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/command.hpp"

#include <span>
#include <string>
#include <vector>

namespace commands {

/// Workloads that end if hosts leave their cluster, and hosts that did not show theirs, with the reason.
struct RunningWorkloads {
  std::vector<std::string> lines;   ///< "notebook default/anna (1 GPU on gpu1)"
  std::vector<std::string> unread;  ///< "gpu1: the server was unable to return a response in time"
  /// Of a cluster that leaves together with its control planes, and whose API server does not answer.
  std::vector<std::string> silent;
};

/// From what playbooks/read/workloads.sh printed on each host. `leaving`: names of nodes that leave a cluster
/// that stays; empty: the nodes that the hosts are, with their control planes if these are among them.
[[nodiscard]] RunningWorkloads judge_workloads(std::span<const transport::Completion> answers,
                                               std::vector<std::string> leaving);

/// Reads them on these hosts, and judges them. An error only after Ctrl-C.
[[nodiscard]] Result<RunningWorkloads> running_workloads(const std::vector<std::string>& hosts,
                                                         std::vector<std::string> leaving,
                                                         transport::Fleet& fleet,
                                                         const assets::Store& assets);

/// Fault::blocked with all of them, or with those that could not be read, unless `force`. What is `silent` is
/// no reason: a cluster whose API server has failed can be removed.
[[nodiscard]] Result<> refuse_to_strand(const RunningWorkloads& running, bool force);

}  // namespace commands
