#include "checks/end_of_life.hpp"

#include "checks/csv.hpp"

#include <fmt/format.h>

namespace checks {

base::Result<std::map<std::string, Lines>> read_lines(
    const std::function<base::Result<std::string>(std::string_view path)>& asset) {
  const std::string path = "data/end-of-life.csv";
  std::map<std::string, Lines> lines;
  for (const auto& row :
       TRY(read_csv(TRY(asset(path)), {"component", "line", "ends", "source", "seen"}, path))) {
    const auto line = base::Version::parse(row[1]);
    const auto ends = base::parse_day(row[2]);
    if (!line || (!ends && !row[2].empty()) || !lines[row[0]].emplace(*line, ends).second)
      return base::fail(base::Fault::parse,
                        fmt::format("{}: {} {}: is not a valid row", path, row[0], row[1]));
  }
  return lines;
}

LineState state_of_line(const Lines& lines, const base::Version& version, base::Day day) {
  using State = LineState::State;
  const base::Version line{version.major, version.minor, -1};
  const std::string name = line.text();
  const auto place = lines.lower_bound(line);
  if (place == lines.end()) return {State::unknown, name + " is newer than gpuadm's data"};
  const auto& [listed, ends] = *place;
  const bool ended = ends && *ends < day;
  if (listed != line && ended)
    return {State::ended, fmt::format("{} ended before {}, on {} at the latest", name, listed.text(),
                                      base::day_text(*ends))};
  if (listed != line) return {State::unknown, fmt::format("the end of {} is not known", name)};
  if (!ends) return {State::maintained, name + " has no published end"};
  if (ended) return {State::ended, fmt::format("{} ended on {}", name, base::day_text(*ends))};
  return {State::maintained, fmt::format("{} gets fixes until {}", name, base::day_text(*ends))};
}

}  // namespace checks
