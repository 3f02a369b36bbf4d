#include "gpuadm/base/problems.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace base {

void Problems::add(Mark mark, std::string what) {
  found_.push_back({{std::max(mark.line, 1), std::max(mark.column, 1)}, std::move(what)});
}

void Problems::add_unknown_keys(const Tree& map, std::string_view prefix,
                                std::span<const std::string> known) {
  for (const auto& [key, value] : map.entries()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto near = nearest(key, known);
    add(value.key_mark, fmt::format("{}{}: unknown key ({})", prefix, printable(key, 100),
                                    near ? fmt::format("did you mean {}?", *near)
                                         : fmt::format("known: {}", fmt::join(known, ", "))));
  }
}

Error Problems::error(std::string hint) const {
  std::vector<Problem> sorted = found_;
  std::ranges::stable_sort(
      sorted, {}, [](const Problem& problem) { return std::tuple(problem.mark.line, problem.mark.column); });
  std::string text;
  for (const auto& [mark, what] : sorted)
    text += fmt::format("{}{}:{}:{}: {}", text.empty() ? "" : "\n", source_, mark.line, mark.column, what);
  return {Fault::spec, text, std::move(hint)};
}

Error at_place(Error error, const std::string& source, const Mark& mark, const std::string& item) {
  error.what =
      fmt::format("{}:{}:{}: {}: {}", printable(source, 300), mark.line, mark.column, item, error.what);
  error.fault = Fault::blocked;
  return error;
}

}  // namespace base
