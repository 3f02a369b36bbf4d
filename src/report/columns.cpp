#include "gpuadm/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace report {

namespace {

constexpr std::size_t narrowest = 8;

std::string cut(const std::string& cell, std::size_t width) {
  return cell.size() <= width ? cell : cell.substr(0, width - 3) + "...";
}

}  // namespace

std::string columns(std::vector<std::vector<std::string>> lines, std::size_t width,
                    const std::vector<std::size_t>& may_shrink) {
  if (lines.empty()) return {};
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
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
