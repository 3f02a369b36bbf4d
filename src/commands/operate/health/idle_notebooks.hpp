#pragma once

#include "commands/operate/health/node_usage.hpp"

#include <string>
#include <vector>

namespace commands {

struct IdleRun {
  const UsageRun& run;
  const std::string& node;  ///< name of this machine's Node object
};

/// On the control-plane node that also sets taints: stops notebooks that were made with --stop-idle and are
/// idle, after a warning in their log, and adds to `did`. Their volumes are kept. A notebook whose use cannot
/// be read is not stopped. Does nothing on other nodes, and mostly once in one to five minutes.
[[nodiscard]] base::Result<> stop_idle_notebooks(const IdleRun& idle, std::vector<std::string>& did);

}  // namespace commands
