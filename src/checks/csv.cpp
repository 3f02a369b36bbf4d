#include "checks/csv.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace checks {

namespace {

/// The cells of a line; nothing if a quote is not closed or in the middle of a cell.
std::optional<std::vector<std::string>> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"')
        cells.back() += c;
      else if (line.substr(i + 1, 1) == "\"")
        cells.back() += line[++i];
      else if (quoted = false; i + 1 < line.size() && line[i + 1] != ',')
        return std::nullopt;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '"') {
      if (!cells.back().empty()) return std::nullopt;
      quoted = true;
    } else {
      cells.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(std::move(cells));
}

}  // namespace

base::Result<std::vector<std::vector<std::string>>> read_csv(std::string_view text,
                                                             const std::vector<std::string>& header,
                                                             std::string_view source) {
  std::vector<std::vector<std::string>> rows;
  std::size_t number = 0;
  for (const std::string_view line : base::lines(text)) {
    ++number;
    auto cells = cells_of(line);
    if (!cells)
      return base::fail(base::Fault::parse, fmt::format("{}:{}: an unbalanced quote", source, number));
    if (number == 1) {
      if (*cells != header)
        return base::fail(base::Fault::parse,
                          fmt::format("{}:1: the header must be {}", source, base::join(header, ",")));
      continue;
    }
    if (cells->size() != header.size())
      return base::fail(base::Fault::parse, fmt::format("{}:{}: {} columns where the header has {}", source,
                                                        number, cells->size(), header.size()));
    rows.push_back(std::move(*cells));
  }
  if (number == 0) return base::fail(base::Fault::parse, fmt::format("{}: the file is empty", source));
  return rows;
}

}  // namespace checks
