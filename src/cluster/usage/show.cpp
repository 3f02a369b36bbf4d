#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"

#include "cluster/usage/cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace cluster {

namespace {

using base::Tree;

Tree real(double value) {
  return std::round(value * 1e6) / 1e6;
}

void set_sum(Tree& tree, const UsageSum& sum) {
  tree.set("heldHours", real(sum.held / seconds_an_hour));
  tree.set("freeHours", real(sum.free / seconds_an_hour));
  tree.set("unknownHours", real(sum.unknown / seconds_an_hour));
  tree.set("usedHours", sum.used_of > 0 ? real(sum.used / seconds_an_hour) : Tree());
  tree.set("usedHoursOf", real(sum.used_of / seconds_an_hour));
  tree.set("energyKwh", sum.energy_of > 0 ? real(sum.energy / joules_a_kwh) : Tree());
  tree.set("energyHoursOf", real(sum.energy_of / seconds_an_hour));
}

/// RFC 4180. Control characters are escaped by printable; quotes are doubled.
std::string csv_name(const std::string& name) {
  constexpr std::string_view formula = "=+-@";
  std::string text = base::printable(name, 300);
  if (!text.empty() && formula.contains(text.front())) text.insert(text.begin(), '\'');
  return "\"" + base::replace_all(base::replace_all(std::move(text), "\"", "\"\""), "\n", " ") + "\"";
}

std::string csv_line(const std::string& name, const UsageSum& sum) {
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format("{:.3f}", *value) : std::string();
  };
  const auto known = [](double of, double value) { return of > 0 ? std::optional(value) : std::nullopt; };
  return fmt::format(
      "{},{},{},{},{},{},{},{}\n", csv_name(name), number(sum.held / seconds_an_hour),
      number(sum.free / seconds_an_hour), number(sum.unknown / seconds_an_hour),
      number(known(sum.used_of, sum.used / seconds_an_hour)), number(sum.used_of / seconds_an_hour),
      number(known(sum.energy_of, sum.energy / joules_a_kwh)), number(sum.energy_of / seconds_an_hour));
}

}  // namespace

std::string to_text(const UsageReport& report, std::size_t width) {
  const UsageBy by = report.scope().by;
  std::string text;
  if (report.gpus() > 0) {
    std::vector<std::vector<std::string>> lines = {head_of(by)};
    for (const UsageGroup& group : report.groups()) lines.push_back(cells_of(group.name, group.sum, by));
    lines.push_back(cells_of("total", report.total(), by));
    text = headline(report) + "\n" + report::columns(std::move(lines), width, {0}) + notes_of(report);
  }
  for (const UsageHost& host : report.hosts())
    if (!host.problem.empty())
      text += fmt::format("{}: {}\n", base::printable(host.host, 80), base::printable(host.problem, 400));
  return text;
}

Tree to_tree(const UsageReport& report) {
  Tree groups = Tree::list(), hosts = Tree::list(), total = Tree::map();
  for (const UsageGroup& group : report.groups()) {
    Tree one = Tree::map_of({{"name", group.name}});
    set_sum(one, group.sum);
    groups.push(std::move(one));
  }
  set_sum(total, report.total());
  for (const UsageHost& host : report.hosts())
    hosts.push(Tree::map_of({{"host", host.host},
                             {"reached", host.reached},
                             {"problem", host.problem.empty() ? Tree() : Tree(host.problem)}}));
  return Tree::map_of({{"from", time_text(report.scope().from)},
                       {"to", time_text(report.scope().to)},
                       {"by", std::string(name_of(report.scope().by))},
                       {"gpus", static_cast<std::int64_t>(report.gpus())},
                       {"groups", std::move(groups)},
                       {"total", std::move(total)},
                       {"notRecordedHours", real(report.gaps() / seconds_an_hour)},
                       {"energyFrom", "power"},
                       {"hosts", std::move(hosts)}});
}

std::string to_csv(const UsageReport& report) {
  std::string text = fmt::format(
      "{},held_hours,free_hours,unknown_hours,used_hours,used_hours_of,energy_kwh,energy_hours_of\n",
      name_of(report.scope().by));
  for (const UsageGroup& group : report.groups()) text += csv_line(group.name, group.sum);
  return text + csv_line("total", report.total());
}

}  // namespace cluster
