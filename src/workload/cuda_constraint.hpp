#pragma once

#include "gpuadm/base/version.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace workload {

/// A variable NVIDIA_REQUIRE_* of an image: "cuda>=12.4 brand=tesla,driver>=535,driver<536". A blank is "or",
/// a comma "and":
/// https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/internal/config/image/cuda_image.go
struct CudaConstraint {
  enum class Answer { yes, no, unknown };
  struct Node {
    base::Version driver;
    std::optional<base::Version> cuda;  ///< nothing: unknown
  };
  std::string variable, value;
  /// Unknown if it depends on the brand or the architecture of the GPU.
  [[nodiscard]] Answer holds(const Node& node) const;
};

/// The constraints of an image; none if it disables them.
[[nodiscard]] std::vector<CudaConstraint> constraints_of(
    const std::map<std::string, std::string>& environment);

/// The CUDA version of an image: CUDA_VERSION, otherwise the lowest one that NVIDIA_REQUIRE_CUDA names first.
[[nodiscard]] std::optional<base::Version> cuda_of_image(
    const std::map<std::string, std::string>& environment);

}  // namespace workload
