#pragma once

#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/facts/nvidia.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The metrics of a node for Prometheus. Pure.
namespace cluster {

/// A container that uses a GPU.
struct GpuUser {
  std::string uuid;  ///< of the GPU
  std::string ns, pod, container;
  std::optional<std::uint64_t> used_mib;  ///< nothing: the driver does not report it; the metric is NaN
};

/// What one run of `gpuadm health run` knows.
struct NodeMetrics {
  const HealthState& state;
  const facts::Nvidia* nvidia = nullptr;  ///< nullptr: it was not read
  bool has_log = false;                   ///< whether the kernel's log was read: otherwise Xids are not known
  std::span<const report::Finding> findings;
  std::span<const GpuUser> users;
};

/// A metric of a GPU by its name, such as DCGM_FI_DEV_POWER_USAGE. Nothing: it has no value, or there is no
/// such metric.
[[nodiscard]] std::optional<double> reading_of(const facts::Gpu& gpu, std::string_view metric);

/// Names and labels of DCGM exporter where they mean the same, otherwise gpuadm_*. The metrics of a GPU have
/// the labels of a pod if one pod uses it; with time-slicing, gpuadm_gpu_pod_memory_used_bytes has all of its
/// pods.
[[nodiscard]] std::string to_prometheus(const NodeMetrics& metrics);

}  // namespace cluster
