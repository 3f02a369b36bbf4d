#pragma once

#include <string>
#include <vector>

namespace report {

/// How a cell that is wider than its column is shown: on several rows, or truncated with "..." where every
/// line must be one row.
enum class Overflow { wrapped, truncated };

/// Lines of cells, separated by two spaces; each column is as wide as its widest cell, the last is not
/// padded. If a line would be longer than `width` (0: any length), the columns at `may_shrink` become
/// narrower, in that order, to at least eight characters. If that is not enough, and the first line is a
/// heading in capitals, every line is a list of "HEADING value" instead.
[[nodiscard]] std::string columns(std::vector<std::vector<std::string>> lines, std::size_t width = 0,
                                  const std::vector<std::size_t>& may_shrink = {},
                                  Overflow overflow = Overflow::wrapped);

}  // namespace report
