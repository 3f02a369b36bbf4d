#pragma once

#include <string>
#include <vector>

namespace report {

/// Lines of cells with two blanks between, each column as wide as its widest cell, the last as it comes.
/// Where a line would be longer than `width` (0: any length), the columns at `may_shrink` are cut, in that
/// order, down to eight characters.
[[nodiscard]] std::string columns(std::vector<std::vector<std::string>> lines, std::size_t width = 0,
                                  const std::vector<std::size_t>& may_shrink = {});

}  // namespace report
