#include "cluster/usage/cells.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace cluster {

namespace {

constexpr double least_unknown = 60;  // GPU seconds that are worth a note

bool has_states(UsageBy by) {
  return by == UsageBy::gpu || by == UsageBy::node;
}

std::string plural(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace

std::string hours(double seconds) {
  return fmt::format("{:.2f}", seconds / seconds_an_hour);
}

std::string time_text(double seconds) {
  const auto time = base::Time(
      std::chrono::duration_cast<base::Time::duration>(std::chrono::duration<double>(std::floor(seconds))));
  return base::iso8601(time).substr(0, 16) + "Z";
}

std::string used_text(const UsageSum& sum) {
  return sum.used_of > 0 ? hours(sum.used) : "-";
}

std::string utilization_text(const UsageSum& sum) {
  return sum.used_of > 0 ? fmt::format("{:.0f}%", 100 * sum.used / sum.used_of) : "-";
}

std::string energy_text(const UsageSum& sum) {
  return sum.energy_of > 0 ? fmt::format("{:.2f}", sum.energy / joules_a_kwh) : "-";
}

std::vector<std::string> cells_of(const std::string& name, const UsageSum& sum, UsageBy by) {
  std::vector<std::string> cells = {base::printable(name, 300)};
  if (has_states(by))
    cells.insert(cells.end(), {hours(sum.held), hours(sum.free), hours(sum.unknown)});
  else
    cells.push_back(hours(sum.all()));
  cells.insert(cells.end(), {used_text(sum), utilization_text(sum), energy_text(sum)});
  return cells;
}

std::string notes_of(const UsageReport& report) {
  const UsageSum& total = report.total();
  std::string text = fmt::format("held {} + free {} + unknown {} = {} GPU hours\n", hours(total.held),
                                 hours(total.free), hours(total.unknown), hours(total.all()));
  if (report.gaps() > 0)
    text += fmt::format("not recorded: {} GPU hours, without health runs\n", hours(report.gaps()));
  if (total.held - total.used_of > least_unknown)
    text += fmt::format("the utilization of {} held GPU hours is unknown, as with MIG\n",
                        hours(total.held - total.used_of));
  if (total.all() - total.energy_of > least_unknown)
    text += fmt::format("the energy of {} GPU hours is unknown\n", hours(total.all() - total.energy_of));
  return text;
}

std::string headline(const UsageReport& report) {
  std::size_t hosts = 0;
  for (const UsageHost& host : report.hosts()) hosts += host.reached ? 1 : 0;
  return fmt::format("{} on {}, {} to {}", plural(report.gpus(), "GPU"), plural(hosts, "host"),
                     time_text(report.scope().from), time_text(report.scope().to));
}

std::vector<std::string> head_of(UsageBy by) {
  std::string first(name_of(by));
  for (char& letter : first) letter = static_cast<char>(letter - 'a' + 'A');
  if (has_states(by)) return {first, "HELD H", "FREE H", "UNKNOWN H", "USED H", "UTIL", "KWH"};
  return {first, "GPU HOURS", "USED HOURS", "UTIL", "KWH"};
}

}  // namespace cluster
