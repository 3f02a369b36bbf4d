#pragma once

#include "commands/shared_options.hpp"

namespace commands {

/// Prints the pods that hold GPUs and do not use them, as the health checks of the nodes report. Needs the
/// API server only. Outcome::failed if a node with GPUs does not report.
[[nodiscard]] Result<Outcome> show_idle_gpus(const Hosts& hosts, const Common& common, Format format, Io& io);

}  // namespace commands
