#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// A program that has the device file of a GPU open.
struct GpuUser {
  std::uint64_t pid = 0;
  std::string name;       ///< the kernel's, at most 15 characters; empty: it has ended
  std::string pod_uid;    ///< of its control group; empty: not in a pod
  std::string container;  ///< id of its container; empty: none
  std::string service;    ///< unit of the system that it belongs to; empty: none
};

/// Who uses one GPU of a host.
struct GpuUsers {
  /// UIDs of the pods to which the kubelet has allocated it; nothing: the kubelet does not name GPUs by UUID.
  std::optional<std::vector<std::string>> pods;
  std::vector<GpuUser> programs;
  bool all_programs = true;  ///< false: the open files of some programs could not be read
};

/// Reads the output of playbooks/read/gpu-users.sh. Fault::parse if it is something else, or incomplete.
[[nodiscard]] base::Result<GpuUsers> parse_gpu_users(std::string_view output);

/// How much a program has computed on a GPU lately.
struct ProcessUtilization {
  int gpu = 0;  ///< index of nvidia-smi
  std::string pid;
  double utilization = 0;  ///< 0 to 1
};
/// Reads `nvidia-smi pmon -s u`. It prints "-" for a program without a measurement: one that did nothing, if
/// another one on the GPU has a number. A GPU without any number is left out, and so is a program with
/// another word.
[[nodiscard]] std::vector<ProcessUtilization> parse_process_utilization(std::string_view output);

/// The GPUs, shares of GPUs and MIG instances that the kubelet has allocated to pods through a device plugin.
/// A pod that has ended is in it until the kubelet allocates again.
struct GpuAllocations {
  /// UIDs of pods by the UUID of a GPU or of a MIG instance.
  std::map<std::string, std::set<std::string>, std::less<>> pods;
  /// Whether the kubelet names all devices of NVIDIA by UUID, and has any: otherwise a GPU without pods may
  /// be allocated under another name, or by a claim.
  bool complete = false;
};

/// Reads /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint (pkg/kubelet/cm/devicemanager/checkpoint
/// of Kubernetes). NVIDIA's device plugin names devices by UUID, and shares UUID::NUMBER. Fault::parse if it
/// is something else.
[[nodiscard]] base::Result<GpuAllocations> parse_gpu_allocations(std::string_view checkpoint);

}  // namespace facts
