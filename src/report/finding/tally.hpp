#pragma once

#include "gpuadm/report/finding.hpp"

#include <set>
#include <span>
#include <string>

namespace report {

/// Counts of findings. Unknown results are `unknown`, regardless of severity.
struct Tally {
  std::size_t blockers = 0, warnings = 0, notes = 0, passed = 0, skipped = 0, unknown = 0;
  std::set<std::string> hosts;
  bool cluster = false;  ///< there are findings of the whole cluster
  void add(const Finding& finding);
};

[[nodiscard]] Tally tally(std::span<const Finding> findings);
/// "3 hosts", or "the whole cluster" if there are no findings of hosts.
[[nodiscard]] std::string subject_of(const Tally& tally);
/// "1 blocker, 2 warnings, 41 passed"; zeros are omitted, all zeros: "nothing checked".
[[nodiscard]] std::string to_text(const Tally& tally);

}  // namespace report
