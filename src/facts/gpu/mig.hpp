#pragma once

#include "gpuadm/facts/nvidia.hpp"

#include <optional>
#include <string_view>

namespace facts {

inline constexpr std::size_t most_instances = 64;  ///< of one GPU

/// A line of `nvidia-smi -L`: "  MIG 1g.10gb     Device  0: (UUID: MIG-…)", below the line of its GPU.
[[nodiscard]] std::optional<MigInstance> mig_instance_in(std::string_view line);

}  // namespace facts
