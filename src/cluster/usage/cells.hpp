#pragma once

#include "gpuadm/cluster/usage_report.hpp"

#include <string>
#include <vector>

/// What the table and the page of `gpuadm usage` have in common.
namespace cluster {

inline constexpr double joules_a_kwh = 3.6e6;

/// GPU seconds as hours: "0.67".
[[nodiscard]] std::string hours(double seconds);
/// Of seconds since 1970: "2026-11-30T10:00Z".
[[nodiscard]] std::string time_text(double seconds);
/// "-": unknown
[[nodiscard]] std::string used_text(const UsageSum& sum);
[[nodiscard]] std::string energy_text(const UsageSum& sum);
/// "4 GPUs on 2 hosts, 2026-11-30T00:00Z to 2026-11-30T11:00Z"
[[nodiscard]] std::string headline(const UsageReport& report);
[[nodiscard]] std::vector<std::string> head_of(UsageBy by);
[[nodiscard]] std::vector<std::string> cells_of(const std::string& name, const UsageSum& sum, UsageBy by);
/// What the table does not show, a line each.
[[nodiscard]] std::string notes_of(const UsageReport& report);

}  // namespace cluster
