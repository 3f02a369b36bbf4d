#pragma once

#include "gpuadm/base/error.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace facts {

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
