#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>
#include <chrono>

namespace facts {

namespace {

/// "1764037610.123456789 +0100"; "1764037610.%N +0100" if date(1) does not support nanoseconds.
std::optional<double> read_time(const Sections& sections, std::string_view name) {
  auto text = sections.first(name);
  if (!text) return std::nullopt;
  text->resize(std::min(text->size(), text->find(' ')));
  if (const std::size_t percent = text->find('%'); percent != std::string::npos) text->resize(percent);
  if (text->ends_with('.')) text->pop_back();
  return base::to_real(*text);
}

std::optional<bool> read_synchronized(const Sections& sections, const Software& software) {
  if (software.paths.contains("/run/systemd/timesync/synchronized")) return true;
  if (const Section* chrony = sections.find("chrony"); chrony && chrony->status == 0)
    for (const std::string_view line : chrony->lines)
      if (line.starts_with("Leap status")) return line.find("Not synchronised") == std::string_view::npos;
  // timesyncd is installed and has not written its file: it is still waiting for a server.
  const auto timesyncd = software.units.find("systemd-timesyncd.service");
  if (timesyncd != software.units.end() && timesyncd->second.active == "active") return false;
  return std::nullopt;
}

/// "Reference ID    : C0000235 (192.0.2.53)"; 00000000 without a server, 7F7F0101 for its own clock.
std::optional<std::string> read_server(const Sections& sections) {
  const Section* chrony = sections.find("chrony");
  if (!chrony || chrony->status != 0) return std::nullopt;
  std::optional<std::string> server;
  for (const std::string_view line : chrony->lines)
    if (const auto words = base::words(line); words.size() > 3 && words[0] == "Reference")
      server = words[3] == "00000000" || words[3] == "7F7F0101" ? std::string() : std::string(words.back());
  return server;
}

}  // namespace

void read_clock(const Sections& sections, Facts& facts) {
  Clock& clock = facts.clock;
  clock.probe_begin = read_time(sections, "clock");
  clock.probe_end = read_time(sections, "clock-end");
  const std::string line = sections.first("clock").value_or("");
  if (const auto words = base::words(line); words.size() > 1) clock.utc_offset = std::string(words[1]);
  clock.synchronized = read_synchronized(sections, facts.software);
  clock.server = read_server(sections);
  for (const auto& [path, value] : sections.values("sysfs"))
    if (path.ends_with("/current_clocksource")) clock.source = std::string(value);
}

void place_clock(Clock& clock, base::Time sent, base::Time answered) {
  if (!clock.probe_begin || !clock.probe_end) return;
  const auto seconds = [](base::Time time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  clock.offset = ((*clock.probe_begin - seconds(sent)) + (*clock.probe_end - seconds(answered))) / 2;
}

Tree clock_tree(const Clock& c) {
  return Tree::map_of({{"synchronized", tree_of(c.synchronized)}, {"offset", tree_of(c.offset)}});
}

Tree clock_state_tree(const Clock& c) {
  return Tree::map_of(
      {{"clocksource", c.source}, {"timeServer", tree_of(c.server)}, {"utcOffset", c.utc_offset}});
}

}  // namespace facts
