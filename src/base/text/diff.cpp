#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace base {

namespace {

enum class Change : char { same = ' ', removed = '-', added = '+' };
struct Line {
  Change mark;
  std::string_view text;
};

/// The longest common subsequence by table; files that are too large for it are shown as replaced completely.
std::vector<Line> align(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const std::size_t rows = a.size() - head - tail;
  const std::size_t columns = b.size() - head - tail;
  std::vector<Line> result;
  for (std::size_t i = 0; i < head; ++i) result.push_back({Change::same, a[i]});
  std::size_t i = 0;
  std::size_t j = 0;
  if (rows * columns <= 16'000'000) {
    std::vector<std::uint32_t> length((rows + 1) * (columns + 1));
    const auto at = [&](std::size_t r, std::size_t c) -> std::uint32_t& {
      return length[r * (columns + 1) + c];
    };
    for (std::size_t r = rows; r-- > 0;)
      for (std::size_t c = columns; c-- > 0;)
        at(r, c) = a[head + r] == b[head + c] ? at(r + 1, c + 1) + 1 : std::max(at(r + 1, c), at(r, c + 1));
    while (i < rows && j < columns) {
      if (a[head + i] == b[head + j])
        result.push_back({Change::same, a[head + i]}), ++i, ++j;
      else if (at(i + 1, j) >= at(i, j + 1))
        result.push_back({Change::removed, a[head + i++]});
      else
        result.push_back({Change::added, b[head + j++]});
    }
  }
  while (i < rows) result.push_back({Change::removed, a[head + i++]});
  while (j < columns) result.push_back({Change::added, b[head + j++]});
  for (std::size_t k = 0; k < tail; ++k) result.push_back({Change::same, a[a.size() - tail + k]});
  return result;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name) {
  if (before == after) return {};
  constexpr std::size_t context = 3;
  const std::vector<Line> all = align(lines(before), lines(after));
  std::string text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t next = i;
    while (next < all.size() && all[next].mark == Change::same) ++next;
    if (next == all.size()) break;
    const std::size_t start = next - std::min(context, next - i);
    old_line += start - i;
    new_line += start - i;
    std::size_t end = next;
    for (std::size_t k = next; k < all.size() && k <= end + 2 * context; ++k)
      if (all[k].mark != Change::same) end = k;
    end = std::min(end + context + 1, all.size());
    std::size_t olds = 0;
    std::size_t news = 0;
    std::string body;
    for (std::size_t k = start; k < end; ++k) {
      olds += all[k].mark != Change::added;
      news += all[k].mark != Change::removed;
      body += fmt::format("{}{}\n", static_cast<char>(all[k].mark), all[k].text);
    }
    text += fmt::format("@@ -{},{} +{},{} @@\n{}", olds ? old_line : old_line - 1, olds,
                        news ? new_line : new_line - 1, news, body);
    old_line += olds;
    new_line += news;
    i = end;
  }
  return text;
}

}  // namespace base
