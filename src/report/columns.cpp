#include "gpuadm/report/columns.hpp"

#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace report {

namespace {

constexpr std::size_t narrowest = 8, narrow_screen = 60;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// In characters, as fmt pads: not in bytes of UTF-8.
std::size_t width_of(const std::string& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, begins_character));
}

/// The first `width` characters of a text, in bytes.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t left = width; end < text.size(); ++end)
    if (begins_character(text[end]) && left-- == 0) break;
  return end;
}

/// The lines of a cell in a column: broken at blanks, and within a word only if it is wider than the column.
/// Nothing is cut. Later lines of the first column are indented: they are no rows.
std::vector<std::string> wrapped_cell(std::string_view cell, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  while (width_of(std::string(cell)) > width - (lines.empty() ? 0 : indent)) {
    const std::size_t most = bytes_of(cell, width - (lines.empty() ? 0 : indent));
    const std::size_t blank = cell.rfind(' ', most);
    const bool at_blank = blank != std::string_view::npos && blank > 0;
    lines.push_back(std::string(lines.empty() ? 0 : indent, ' ') +
                    std::string(cell.substr(0, at_blank ? blank : most)));
    cell.remove_prefix(at_blank ? blank + 1 : most);
  }
  lines.push_back(std::string(lines.empty() ? 0 : indent, ' ') + std::string(cell));
  return lines;
}

std::string row_text(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  constexpr std::size_t indent = 2;
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    cells.push_back(wrapped_cell(row[i], widths[i], i == 0 ? indent : 0));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t at = 0; at < height; ++at) {
    std::string shown;
    for (std::size_t i = 0; i < cells.size(); ++i)
      shown += fmt::format("{:<{}}  ", at < cells[i].size() ? cells[i][at] : "", widths[i]);
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

/// For a terminal that is too narrow for the columns: a line for each cell, below its row's first.
std::string as_records(const std::vector<std::vector<std::string>>& lines, std::size_t width) {
  std::string text;
  for (std::size_t row = 1; row < lines.size(); ++row)
    for (std::size_t i = 0; i < lines[row].size(); ++i)
      text += std::string(i == 0 ? 0 : 2, ' ') +
              wrapped(lines.front()[i] + ": " + lines[row][i], i == 0 ? 4 : 6, width) + "\n";
  return text;
}

}  // namespace

std::string columns(std::vector<std::vector<std::string>> lines, std::size_t width,
                    const std::vector<std::size_t>& may_shrink) {
  if (lines.empty()) return {};
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  const auto whole = [&] {
    return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + 2 * (widths.size() - 1);
  };
  for (const std::size_t column : may_shrink)
    if (width > 0 && whole() > width && widths[column] > narrowest)
      widths[column] -= std::min(whole() - width, widths[column] - narrowest);
  if (width > 0 && width < narrow_screen && whole() > width) return as_records(lines, width);
  std::string text;
  for (const auto& line : lines) text += row_text(line, widths);
  return text;
}

}  // namespace report
