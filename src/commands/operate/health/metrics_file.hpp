#pragma once

#include "gpuadm/cluster/health_metrics.hpp"

#include <string>
#include <vector>

namespace commands {

/// Writes the metrics of a run for `gpuadm health serve` and node-exporter's textfile collector. Below /run:
/// metrics of before a boot are not served. `nvidia`, `has_log`: as in NodeMetrics. The host of the findings
/// becomes the node.
[[nodiscard]] base::Result<> write_metrics(const cluster::HealthState& state, const facts::Nvidia* nvidia,
                                           bool has_log, std::vector<report::Finding> findings);
/// What the last run wrote.
[[nodiscard]] base::Result<std::string> read_metrics();

}  // namespace commands
