#pragma once

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/report/finding.hpp"

#include "commands/command.hpp"

#include <string>
#include <vector>

namespace commands {

struct VerifyOptions {
  Common common;
  Hosts hosts;
  std::vector<std::string> only;  ///< names of links; empty: all
  Format format = Format::text;
};

/// What was tested.
struct Verified {
  Outcome outcome = Outcome::done;
  std::vector<report::Finding> findings;  ///< of the links
  std::vector<checks::GpuNode> gpu_nodes;
};

/// Tests the pod network and DNS on every node, and the chain from the driver to a pod that computes on every
/// node with GPUs (docs/reference/verify.md), and prints the result. Removes everything that it creates on
/// hosts and in the cluster. Outcome::failed if a link fails.
[[nodiscard]] Result<Verified> verify_cluster(const VerifyOptions& options, Io& io);

}  // namespace commands
