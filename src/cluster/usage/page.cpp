#include "gpuadm/base/text.hpp"
#include "gpuadm/report/bar_chart.hpp"

#include "cluster/usage/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

constexpr std::size_t most_charts = 100;

/// "2026-11-30 10:00Z"
std::string step_text(double seconds) {
  return base::replace_all(time_text(seconds), "T", " ");
}

report::BarChart chart_of(const UsageGroup& group, double step) {
  report::BarChart chart{.title = base::printable(group.name, 300), .summary = {}, .whole = {}, .part = {}};
  for (const UsageSum& sum : group.over_time) {
    chart.whole.push_back(sum.held / step);
    chart.part.push_back(sum.used / step);
  }
  chart.summary = fmt::format("{} GPU hours held, {} used, {} kWh", hours(group.sum.held),
                              used_text(group.sum), energy_text(group.sum));
  return chart;
}

}  // namespace

std::string to_html(const UsageReport& report) {
  const UsageScope& scope = report.scope();
  const double step = report.step();
  report::BarPage page{
      .title = "GPU hours by " + std::string(name_of(scope.by)),
      .subtitle = headline(report) + (step >= seconds_a_day ? ". A bar is 24 hours." : ". A bar is an hour."),
      .whole = "held",
      .part = "used",
      .unit = "GPUs"};
  for (double at = scope.from; at < scope.to; at += step) page.steps.push_back(step_text(at));
  page.head = head_of(scope.by);
  const auto groups = report.groups();
  for (const UsageGroup& group : groups) {
    page.rows.push_back(cells_of(group.name, group.sum, scope.by));
    if (group.sum.held <= 0 || page.charts.size() == most_charts) continue;
    page.charts.push_back(chart_of(group, step));
    page.top = std::max(page.top, std::ceil(std::ranges::max(page.charts.back().whole)));
  }
  page.rows.push_back(cells_of("total", report.total(), scope.by));
  const std::string notes = notes_of(report);
  for (const std::string_view line : base::lines(notes)) page.notes.emplace_back(line);
  for (const UsageHost& host : report.hosts())
    if (!host.problem.empty()) page.notes.push_back(host.host + ": " + host.problem);
  return report::to_html(page);
}

}  // namespace cluster
