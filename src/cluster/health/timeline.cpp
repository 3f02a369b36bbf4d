#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/health_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cluster {

namespace {

using report::Condition;
using report::TimelineBar;
using report::TimelineHost;
using report::TimelineSpan;

constexpr std::size_t most_changes = 200;

/// What an entry says about one bar; nothing: unknown.
struct Said {
  Condition condition = Condition::good;
  std::string text;
};

std::optional<Said> said_of(const HistoryEntry& entry, std::string_view type) {
  const auto found = std::ranges::find(entry.conditions, type, &HealthCondition::type);
  if (found == entry.conditions.end() || (found->status != "True" && found->status != "False"))
    return std::nullopt;
  if (found->status == "True") return Said{Condition::good, std::string(type) + " is True"};
  return Said{Condition::bad, fmt::format("{} is False{}{}", type, entry.first.empty() ? "" : ": ",
                                          base::printable(entry.first, 300))};
}

std::optional<Said> said_of_gpu(const HistoryEntry& entry, const std::string& uuid) {
  const auto found = entry.gpus.find(uuid);
  if (found == entry.gpus.end()) return std::nullopt;
  const std::string& state = found->second;
  if (state == "ok") return Said{Condition::good, "no finding"};
  if (state == "quarantined") return Said{Condition::excluded, "in quarantine"};
  if (state == "warning") return Said{Condition::warning, "a warning"};
  return Said{Condition::bad, "broken"};
}

/// One node: its entries, when each begins and ends.
struct Course {
  std::vector<const HistoryEntry*> entries;
  std::vector<double> times;  ///< one more than entries
};

template <class SaidOf>
TimelineBar bar_of(const std::string& label, const Course& course, SaidOf said_of_entry) {
  TimelineBar bar{label, {}};
  for (std::size_t i = 0; i < course.entries.size(); ++i) {
    const std::optional<Said> said = said_of_entry(*course.entries[i]);
    const double from = course.times[i], to = course.times[i + 1];
    if (!said || to <= from) continue;
    TimelineSpan* last = bar.spans.empty() ? nullptr : &bar.spans.back();
    if (last && last->to == from && last->condition == said->condition && last->message == said->text)
      last->to = to;
    else
      bar.spans.push_back({from, to, said->condition, said->text});
  }
  return bar;
}

std::string change_text(const HistoryEntry& entry) {
  std::string text = entry.first.empty() ? "nothing is broken" : entry.first;
  if (!entry.note.empty()) text += "; " + entry.note;
  return base::printable(text, 300);
}

TimelineHost host_of(const std::string& name, const Course& course) {
  TimelineHost host{base::printable(name, 80), {}, {}};
  if (course.entries.empty()) return host;
  std::vector<std::string> uuids;
  for (const HistoryEntry* entry : course.entries)
    for (const auto& [uuid, state] : entry->gpus)
      if (std::ranges::find(uuids, uuid) == uuids.end()) uuids.push_back(uuid);
  for (const std::string_view type : health_types)
    host.bars.push_back(
        bar_of(std::string(type), course, [&](const HistoryEntry& entry) { return said_of(entry, type); }));
  for (const std::string& uuid : uuids)
    host.bars.push_back(bar_of(base::printable(uuid, 60), course,
                               [&](const HistoryEntry& entry) { return said_of_gpu(entry, uuid); }));
  for (auto entry = course.entries.rbegin();
       entry != course.entries.rend() && host.changes.size() < most_changes; ++entry)
    host.changes.push_back({base::printable((*entry)->at, 40), change_text(**entry)});
  return host;
}

}  // namespace

report::TimelinePage health_timeline(std::span<const HistoryEntry> entries,
                                     const std::map<std::string, std::string>& last) {
  report::TimelinePage page;
  std::map<std::string, Course> courses;
  for (const auto& [host, at] : last) courses[host];
  for (const HistoryEntry& entry : entries) {
    const auto time = base::parse_time(entry.at);
    if (!time) continue;
    Course& course = courses[entry.host];
    course.entries.push_back(&entry);
    course.times.push_back(*time);
    page.from = page.from == 0 ? *time : std::min(page.from, *time);
    page.to = std::max(page.to, *time);
  }
  for (auto& [host, course] : courses) {
    if (course.entries.empty()) continue;
    const auto at = last.find(host);
    const auto end = at == last.end() ? std::nullopt : base::parse_time(at->second);
    course.times.push_back(std::max(course.times.back(), end.value_or(0)));
    page.to = std::max(page.to, course.times.back());
  }
  page.title = courses.size() == 1 ? "Health of 1 host" : fmt::format("Health of {} hosts", courses.size());
  for (const auto& [host, course] : courses) page.hosts.push_back(host_of(host, course));
  return page;
}

}  // namespace cluster
