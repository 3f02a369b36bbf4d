#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/usage_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

/// The time between the last run and the report is not a gap.
constexpr double least_gap = 300;

std::string user_of(const UsageRow& row, const std::map<std::string, std::string>& users) {
  if (row.holder.uid.empty()) return "(outside pods)";
  if (row.holder.ns.empty()) return "(unnamed pods)";
  const auto user = users.find(row.holder.ns);
  return user == users.end() ? "namespace " + row.holder.ns : user->second;
}

std::string workload_of(const UsageRow& row) {
  if (row.holder.uid.empty()) return "(outside pods)";
  if (row.holder.ns.empty()) return "pod " + row.holder.uid;
  return row.holder.kind.empty() || row.holder.workload.empty()
             ? fmt::format("{}/{}", row.holder.ns, row.holder.pod)
             : fmt::format("{}/{}/{}", row.holder.ns, row.holder.kind, row.holder.workload);
}

std::string group_of(const std::string& host, const UsageRow& row, const UsageScope& scope) {
  switch (scope.by) {
    case UsageBy::node:
      return host;
    case UsageBy::gpu:
      return host + " " + row.gpu;
    case UsageBy::user:
    case UsageBy::workload:
      break;
  }
  if (row.state == UsageState::free) return "(free)";
  if (row.state == UsageState::unknown) return "(unknown)";
  return scope.by == UsageBy::user ? user_of(row, scope.users) : workload_of(row);
}

void add(UsageSum& sum, const UsageRow& row) {
  switch (row.state) {
    case UsageState::held:
      sum.held += row.seconds;
      sum.used += row.used;
      sum.used_of += row.used_of;
      break;
    case UsageState::free:
      sum.free += row.seconds;
      break;
    case UsageState::unknown:
      sum.unknown += row.seconds;
      break;
  }
  sum.energy += row.energy;
  sum.energy_of += row.energy_of;
}

/// What the hours of one GPU have in common.
struct Recorded {
  double first = 0, in_first = 0;  ///< the beginning of its first hour; what was recorded in it
  double seconds = 0;
};

void add(Recorded& gpu, double hour, double seconds) {
  if (gpu.seconds == 0 || hour < gpu.first) gpu = {hour, 0, gpu.seconds};
  if (hour == gpu.first) gpu.in_first += seconds;
  gpu.seconds += seconds;
}

/// The record of a GPU may begin within its first hour.
double gap_of(const Recorded& gpu, const UsageScope& scope) {
  double begin = gpu.first + seconds_an_hour - std::min(gpu.in_first, seconds_an_hour);
  if (gpu.first + seconds_an_hour > scope.to) begin = scope.to - gpu.in_first;
  if (gpu.first <= scope.from) begin = scope.from;
  const double gap = scope.to - begin - gpu.seconds;
  return gap < least_gap ? 0 : gap;
}

bool is_in_parentheses(const UsageGroup& group) {
  return group.name.starts_with('(');
}

}  // namespace

std::string_view name_of(UsageBy by) {
  switch (by) {
    case UsageBy::user:
      return "user";
    case UsageBy::workload:
      return "workload";
    case UsageBy::gpu:
      return "gpu";
    case UsageBy::node:
      break;
  }
  return "node";
}

void UsageReport::add(const std::string& host, const UsageRecord& record) {
  std::map<std::string, Recorded> gpus;
  for (const UsageRow& row : record.rows) {
    const double hour = base::parse_time(row.hour + ":00:00Z").value_or(-1);
    if (hour < scope_.from) continue;
    const std::string group = group_of(host, row, scope_);
    cluster::add(sums_[group], row);
    cluster::add(steps_[group][static_cast<std::size_t>((hour - scope_.from) / step())], row);
    cluster::add(total_, row);
    cluster::add(gpus[row.gpu], hour, row.seconds);
  }
  gpus_ += gpus.size();
  for (const auto& [uuid, recorded] : gpus) gaps_ += gap_of(recorded, scope_);
  UsageHost about{host, {}, true};
  if (!record.complete)
    about.problem = "the answer was truncated; some of its hours are missing";
  else if (!record.exists)
    about.problem = "no record: run gpuadm health enable";
  else if (record.damaged > 0)
    about.problem = record.damaged == 1
                        ? "a damaged line of its record is ignored"
                        : fmt::format("{} damaged lines of its record are ignored", record.damaged);
  hosts_.push_back(std::move(about));
}

void UsageReport::add_unreached(const std::string& host, const std::string& problem) {
  hosts_.push_back({host, "its hours are unknown: " + problem, false});
}

double UsageReport::step() const {
  constexpr double days = 3;
  return scope_.to - scope_.from > days * seconds_a_day ? seconds_a_day : seconds_an_hour;
}

std::vector<UsageGroup> UsageReport::groups() const {
  std::vector<UsageGroup> groups;
  const auto steps = static_cast<std::size_t>(std::ceil((scope_.to - scope_.from) / step()));
  for (const auto& [name, sum] : sums_) {
    groups.push_back({name, sum, std::vector<UsageSum>(steps)});
    for (const auto& [number, part] : steps_.at(name))
      if (number < steps) groups.back().over_time[number] = part;
  }
  if (scope_.by == UsageBy::user || scope_.by == UsageBy::workload)
    std::ranges::stable_sort(groups, [](const UsageGroup& a, const UsageGroup& b) {
      if (is_in_parentheses(a) != is_in_parentheses(b)) return is_in_parentheses(b);
      return !is_in_parentheses(a) && a.sum.held > b.sum.held;
    });
  return groups;
}

}  // namespace cluster
