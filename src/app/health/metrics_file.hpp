#pragma once

#include "gpuadm/cluster/health_metrics.hpp"

#include <vector>

namespace app {

/// Writes the metrics of a run for `gpuadm health serve` and node-exporter's textfile collector. Below /run:
/// metrics of before a boot are not served. `nvidia`: nullptr if it was not read. The host of the findings
/// becomes the node.
[[nodiscard]] base::Result<> write_metrics(const cluster::HealthState& state, const facts::Nvidia* nvidia,
                                           std::vector<report::Finding> findings);

}  // namespace app
