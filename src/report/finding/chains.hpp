#pragma once

#include "gpuadm/report/finding.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace report {

/// 0 blockers, 1 warnings, 2 notes, 3 unknown.
[[nodiscard]] int rank(const Finding* finding);

/// The name of the rank: a severity's name, or "unknown".
[[nodiscard]] std::string_view kind(const Finding& finding);

/// The open findings of one host as chains, by descending severity, otherwise in their own order. Cyclic
/// causes are ignored.
[[nodiscard]] std::vector<Chain> chains(std::span<const Finding* const> of_host);

/// Findings by host in the order of their first one; those of the whole cluster under "the whole cluster".
[[nodiscard]] std::vector<std::pair<std::string, std::vector<const Finding*>>> by_host(
    std::span<const Finding> findings);

}  // namespace report
