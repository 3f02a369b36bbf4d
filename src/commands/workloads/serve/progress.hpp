#pragma once

#include "gpuadm/kube/verdict.hpp"

#include "commands/workloads/serve/serve_plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace commands {

/// What an engine does that is not ready: "downloading the model on gpu1: 7.1 GiB of 15.0 GiB". `total`: 0:
/// unknown; `done`: nothing: unknown.
[[nodiscard]] std::string loading_line(const std::string& node, workload::ModelSource::Kind kind,
                                       std::optional<std::uint64_t> done, std::uint64_t total);

/// The same from the cache of the pod, read at most every few seconds, for AwaitedPod::running. The plan and
/// the cluster must outlive it.
[[nodiscard]] std::function<std::string(const kube::PodVerdict&)> loading_progress(const ServePlan& plan,
                                                                                   ReachedCluster& cluster);

}  // namespace commands
