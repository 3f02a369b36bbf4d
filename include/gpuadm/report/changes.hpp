#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <span>
#include <string>
#include <vector>

namespace report {

enum class Turn { appeared, gone, changed };

/// Change of an open finding between two surveys.
struct Change {
  Turn turn = Turn::appeared;
  base::Time at;
  Finding finding;  ///< the current one; of a resolved one, the last
};

/// The differences in the open findings of two surveys: those of `now` in order, then the resolved ones. A
/// finding has changed if its severity, result or text differ; numbers in its evidence are ignored.
[[nodiscard]] std::vector<Change> changes(std::span<const Finding> before, std::span<const Finding> now,
                                          base::Time at);

/// "new", "gone", "changed".
[[nodiscard]] std::string_view name_of(Turn turn);
/// One line: "2026-11-21T10:00:00Z new     cp1 warning host.disk.swap-on: swap is on".
[[nodiscard]] std::string to_text(const Change& change, const Style& style);
/// {at, change} and the finding's keys.
[[nodiscard]] base::Tree to_tree(const Change& change);

}  // namespace report
