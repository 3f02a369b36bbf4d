#include "gpuadm/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace report {

namespace {

constexpr std::size_t narrowest = 8;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// In characters, as fmt pads: not in bytes of UTF-8.
std::size_t width_of(const std::string& cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, begins_character));
}

std::string cut(const std::string& cell, std::size_t width) {
  if (width_of(cell) <= width) return cell;
  std::size_t end = 0;
  for (std::size_t left = width - 3; end < cell.size(); ++end)
    if (begins_character(cell[end]) && left-- == 0) break;
  return cell.substr(0, end) + "...";
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
  std::string text;
  for (auto& line : lines) {
    std::string shown;
    for (std::size_t i = 0; i < line.size(); ++i)
      shown += fmt::format("{:<{}}  ", cut(line[i], widths[i]), widths[i]);
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

}  // namespace report
