#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/facts/nvidia.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// A program that computes on a GPU.
struct GpuProgram {
  std::uint64_t pid = 0;
  std::string name;  ///< path or name; empty: unknown
  std::optional<double> used_mib;
  std::string pod_uid;    ///< of its control group; empty: not in a pod, or unknown
  std::string container;  ///< id of its container; empty: none, or unknown
};

/// One GPU at one time. What could not be read has no value.
struct GpuReading {
  int index = 0;
  std::string uuid, model;
  bool mig = false;
  std::optional<double> utilization, memory_utilization;  ///< percent of time in which it was used
  std::optional<double> used_mib, total_mib;
  std::optional<double> temperature, memory_temperature;  ///< °C
  std::optional<double> power, power_limit;               ///< W
  std::optional<double> sm_clock, sm_max, memory_clock;   ///< MHz
  std::optional<std::uint64_t> clock_reasons;             ///< nvmlClocksEventReasons, a bit mask
  std::string fault;  ///< what nvidia-smi prints instead of values: "GPU requires reset"
  std::optional<QuarantinedGpu> quarantine;  ///< its entry, if it is in quarantine
  std::vector<MigInstance> instances;
  std::vector<GpuProgram> programs;
  std::vector<std::string> reserved;  ///< UIDs of pods to which the kubelet has allocated it, or a share
};

/// The GPUs of a host at one time.
struct GpuSample {
  std::vector<GpuReading> gpus;
  bool has_smi = true;
  bool control_plane = false;   ///< the host has the administrator's kubeconfig
  bool programs_read = false;   ///< otherwise the programs are unknown
  bool instances_read = false;  ///< the sample has the MIG instances
  std::string fields;           ///< the list of fields that the driver supports, for the next sample
  std::string failure;          ///< why there are no readings; empty: there are
  std::string warning;          ///< about a GPU that has no readings, although others have
  bool hangs = false;           ///< nvidia-smi did not end; another one must not be started
};

/// Reads the output of playbooks/read/gpu-top.sh. Fault::parse if it is something else.
[[nodiscard]] base::Result<GpuSample> parse_gpu_sample(std::string_view output);

/// Whether a line of /proc/PID/cgroup is below the slice of a user other than root, who names the groups
/// there.
[[nodiscard]] bool is_group_of_user(std::string_view line);
/// The pod and the container of a line of /proc/PID/cgroup.
struct CgroupOwner {
  std::string pod_uid, container;
};
[[nodiscard]] CgroupOwner cgroup_owner(std::string_view line);

/// Why the clocks are lower than requested, of a bit mask: "sw_power_cap". Idle is not a reason.
[[nodiscard]] std::vector<std::string> throttle_reasons(std::uint64_t mask);

/// A pod by its UID. `kind` and `workload` are the labels gpuadm.io/kind and gpuadm.io/name.
struct PodName {
  std::string ns, name, kind, workload;
};
/// The output of playbooks/read/gpu-pods.sh.
struct PodNames {
  std::map<std::string, PodName, std::less<>> pods;
  std::optional<int> status;  ///< of kubectl; nothing: it was not run
};
[[nodiscard]] PodNames parse_pod_names(std::string_view output);

}  // namespace facts
