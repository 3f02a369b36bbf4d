#pragma once

#include <string>
#include <vector>

namespace report {

/// Lines of cells, separated by two spaces; each column is as wide as its widest cell, the last is not
/// padded. If a line would be longer than `width` (0: any length), the columns at `may_shrink` are truncated,
/// in that order, to at least eight characters.
[[nodiscard]] std::string columns(std::vector<std::vector<std::string>> lines, std::size_t width = 0,
                                  const std::vector<std::size_t>& may_shrink = {});

}  // namespace report
