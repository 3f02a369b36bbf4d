#pragma once

#include "gpuadm/app/health.hpp"
#include "gpuadm/base/shell.hpp"

#include <string_view>

namespace app {

/// The unit that every host with health checks has.
inline constexpr const char* health_timer = "gpuadm-health.timer";

/// Fault::usage for options that contradict each other, or an unknown check.
[[nodiscard]] Result<> check_settings(const HealthEnableOptions& options);

/// What the steps of playbooks/health read.
[[nodiscard]] base::Variables variables_of(const HealthEnableOptions& options);

/// The settings of a host with health checks: the output of playbooks/read/health.sh `settings`. Fault::parse
/// with what is not understood.
[[nodiscard]] Result<HealthEnableOptions> read_settings(std::string_view output);

}  // namespace app
