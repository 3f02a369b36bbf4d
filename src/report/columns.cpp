#include "gpuadm/report/columns.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace report {

namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t narrowest = 8;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// In characters, as fmt pads: not in bytes of UTF-8.
std::size_t width_of(std::string_view cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, begins_character));
}

/// The number of bytes of the first characters.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t end = 0;
  for (; end < text.size(); ++end)
    if (begins_character(text[end]) && characters-- == 0) break;
  return end;
}

std::string truncated(const std::string& cell, std::size_t width) {
  return width_of(cell) <= width ? cell : cell.substr(0, bytes_of(cell, width - 3)) + "...";
}

/// The rows of a cell: broken between words, and a word that is too long where it must be.
Cells rows_of(const std::string& cell, std::size_t width) {
  if (width_of(cell) <= width) return {cell};
  Cells rows;
  std::string row;
  for (std::string_view word : base::words(cell)) {
    if (!row.empty() && width_of(row) + 1 + width_of(word) > width) rows.push_back(std::move(row)), row = "";
    while (width_of(word) > width) {
      const std::size_t end = bytes_of(word, width);
      rows.emplace_back(word.substr(0, end));
      word.remove_prefix(end);
    }
    row += (row.empty() ? "" : " ") + std::string(word);
  }
  if (!row.empty()) rows.push_back(std::move(row));
  return rows;
}

std::string line_of(const Cells& line, const std::vector<std::size_t>& widths, Overflow overflow) {
  std::vector<Cells> cells;
  std::size_t rows = 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    cells.push_back(overflow == Overflow::wrapped ? rows_of(line[i], widths[i])
                                                  : Cells{truncated(line[i], widths[i])});
    rows = std::max(rows, cells.back().size());
  }
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string shown;
    for (std::size_t i = 0; i < cells.size(); ++i)
      shown += fmt::format("{:<{}}  ", row < cells[i].size() ? cells[i][row] : std::string(), widths[i]);
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

bool is_heading(const Cells& line) {
  return std::ranges::all_of(line, [](const std::string& cell) {
    return !cell.empty() &&
           std::ranges::none_of(cell, [](unsigned char c) { return std::islower(c) != 0 || c >= 0x80; });
  });
}

/// Each line as a list: its first cell, and below it "HEADING value".
std::string lists_of(const std::vector<Cells>& lines, std::size_t width) {
  std::size_t margin = 0;
  for (const std::string& name : lines.front()) margin = std::max(margin, name.size() + 4);
  std::string text;
  for (const Cells& line : std::ranges::subrange(lines.begin() + 1, lines.end())) {
    text += line.front() + "\n";
    for (std::size_t i = 1; i < std::min(line.size(), lines.front().size()); ++i)
      if (!line[i].empty())
        text += fmt::format("  {:<{}}{}\n", lines.front()[i], margin - 2, wrapped(line[i], margin, width));
  }
  return text;
}

}  // namespace

std::string columns(std::vector<Cells> lines, std::size_t width, const std::vector<std::size_t>& may_shrink,
                    Overflow overflow) {
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
  if (width > 0 && whole() > width && overflow == Overflow::wrapped && is_heading(lines.front()))
    return lists_of(lines, width);
  std::string text;
  for (const Cells& line : lines) text += line_of(line, widths, overflow);
  return text;
}

}  // namespace report
