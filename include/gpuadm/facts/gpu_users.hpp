#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <optional>
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

}  // namespace facts
