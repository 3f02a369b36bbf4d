#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/transport/fleet.hpp"

#include "commands/operate/health/health.hpp"

#include <string_view>

namespace commands {

/// The unit that every host with health checks has.
inline constexpr const char* health_timer = "gpuadm-health.timer";

/// Fault::usage for settings that contradict each other, or an unknown check.
[[nodiscard]] Result<> check_settings(const HealthSettings& settings);

/// What the steps of playbooks/health read.
[[nodiscard]] base::Variables variables_of(const HealthSettings& settings);

/// The current settings with those that were given.
[[nodiscard]] HealthSettings with_given(HealthSettings current, const HealthEnableOptions& options);

/// The settings of a host with health checks: the output of playbooks/read/health.sh `settings`. Fault::parse
/// with what is not understood.
[[nodiscard]] Result<HealthSettings> read_settings(std::string_view output);
/// The same, read from the host.
[[nodiscard]] Result<HealthSettings> read_settings(const std::string& host, transport::Fleet& fleet,
                                                   const assets::Store& assets);

}  // namespace commands
