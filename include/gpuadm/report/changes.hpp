#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <span>
#include <string>
#include <vector>

namespace report {

enum class Turn { appeared, gone, changed };

/// What became of an open finding between two looks.
struct Change {
  Turn turn = Turn::appeared;
  base::Time at;
  Finding finding;  ///< as it is now; of one that is gone, as it was
};

/// What differs in the open findings of two looks, those of `now` in their order, then what is gone. One has
/// changed where its severity, its result or its words differ; numbers that move in its evidence are no
/// change.
[[nodiscard]] std::vector<Change> changes(std::span<const Finding> before, std::span<const Finding> now,
                                          base::Time at);

/// "new", "gone", "changed".
[[nodiscard]] std::string_view name_of(Turn turn);
/// One line: "2026-11-21T10:00:00Z new     cp1 warning host.disk.swap-on: swap is on".
[[nodiscard]] std::string to_text(const Change& change, const Style& style);
/// {at, change} and the finding's own keys.
[[nodiscard]] base::Tree to_tree(const Change& change);

}  // namespace report
