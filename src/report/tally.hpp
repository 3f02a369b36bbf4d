#pragma once

#include "gpuadm/report/finding.hpp"

#include <set>
#include <span>
#include <string>

namespace report {

/// Findings counted. What a check could not tell is `unknown`, whatever its severity.
struct Tally {
  std::size_t blockers = 0, warnings = 0, notes = 0, passed = 0, skipped = 0, unknown = 0;
  std::set<std::string> hosts;
};

[[nodiscard]] Tally tally(std::span<const Finding> findings);
/// "1 blocker, 2 warnings, 41 passed"; what is 0 is left out, all 0: "nothing checked".
[[nodiscard]] std::string to_text(const Tally& tally);

}  // namespace report
