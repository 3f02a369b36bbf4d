#pragma once

#include "checks/data.hpp"

#include <map>
#include <optional>
#include <string>

namespace checks {

/// Why a GPU does not support the instances; nothing if it does. Instances are placed as the hardware does:
/// each begins at one of a few memory slices, and no two overlap.
[[nodiscard]] std::optional<std::string> mig_trouble(const MigGpu& gpu,
                                                     const std::map<std::string, int>& devices);

}  // namespace checks
