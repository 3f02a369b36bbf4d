#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/cluster/idle.hpp"
#include "gpuadm/cluster/usage_record.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace commands {

/// The pods and other programs that compute on the GPUs, by the control groups of the programs. `root`: /.
[[nodiscard]] std::map<std::string, cluster::GpuPrograms> gpu_programs(const facts::Nvidia& nvidia,
                                                                       const std::filesystem::path& root);
/// What the kubelet has allocated, without pods that have no control group any more. Nothing: it could not be
/// read.
[[nodiscard]] std::optional<facts::GpuAllocations> read_allocations(const std::filesystem::path& root);
/// OnUnitInactiveSec of gpuadm-health.timer in seconds; without the timer, the default of `health enable`.
[[nodiscard]] double timer_interval(const std::filesystem::path& root);

/// One run of the timer.
struct UsageRun {
  const std::string& host;  ///< the name of this machine in the fleet
  transport::Fleet& fleet;
  const assets::Store& assets;
  const cluster::Moment& now;
  std::filesystem::path folder;  ///< of the health checks
};
/// What a run has read of the use of the GPUs.
struct NodeUsage {
  bool exists = false;  ///< the node has GPUs, or had some
  cluster::UsageMeter meter;
  std::vector<cluster::UsagePart> parts;
  double longest = 0;  ///< seconds between two runs that count
  cluster::IdlePods idle;
};
/// `nvidia`: nullptr if it could not be read; `gpus`: that the node has; `before`: the state of the last run.
[[nodiscard]] NodeUsage read_usage(const UsageRun& run, const facts::Nvidia* nvidia, int gpus,
                                   const cluster::HealthState& before);
/// Adds the time since the last run to usage.json, and appends the rows of hours that have ended to
/// usage.jsonl.
[[nodiscard]] base::Result<> record_usage(const UsageRun& run, NodeUsage usage);

}  // namespace commands
