#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/checks/checks.hpp"

#include <span>
#include <string>

namespace session {

/// Fault::usage for a pattern that matches none of these checks, with the nearest. known_ids() is the same
/// for every_check().
[[nodiscard]] base::Result<> known_among(std::span<const std::string> patterns,
                                         std::span<const checks::About> rows);

}  // namespace session
