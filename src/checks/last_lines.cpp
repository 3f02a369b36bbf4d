#include "checks/last_lines.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/log_line.hpp"

#include "checks/kubelet/reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

namespace checks {

namespace {

bool has_any(std::string_view line, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return line.contains(part); });
}

/// As the parts of KnownLine are written: a quoted message within another one has backslashes.
std::string plain_case(std::string_view line) {
  return base::replace_all(base::lower(line), "\\", "");
}

/// What Go's runtimes print at each start, and the options of a usage text.
bool is_progress(std::string_view line) {
  return line.contains("maxprocs: ") || base::trim(line).starts_with('-');
}

/// What systemd says of the unit: it knows no cause.
bool is_of_systemd(std::string_view line) {
  return has_any(line, {".service: Main process exited", ".service: Failed with result",
                        ".service: Scheduled", ".service: Consumed", ".service: Start request repeated",
                        ".service: Control process exited", ".service: Deactivated"}) ||
         has_any(line.substr(0, 9), {"Started ", "Stopped ", "Starting ", "Stopping ", "Failed to start "});
}

}  // namespace

int weight(std::string_view line) {
  if (base::trim(line).empty()) return 0;
  if (has_any(line, {"unknown flag", "flag provided but not defined", "unknown shorthand",
                     "unrecognized feature gate", "invalid argument"}))
    return 6;
  if (has_any(line, {"no space left", "too many open files", "address already in use",
                     "read-only file system", "certificate has expired", "permission denied"}))
    return 5;
  const kube::Level level = kube::read_log_line(line).level;
  if (level == kube::Level::fatal || line.contains("panic: ")) return 4;
  if (level == kube::Level::info || is_progress(line)) return 1;
  return level == kube::Level::error || has_any(line, {"rror: ", "rror\":", "failed", "Failed", "cannot ",
                                                       "refused", "not found", "no such"})
             ? 3
             : 2;
}

const KnownLine* known_of(std::string_view line, std::span<const KnownLine> known) {
  const std::string low = plain_case(line);
  for (const std::span<const KnownLine> rows : {known, common_lines()})
    for (const KnownLine& row : rows)
      if (low.contains(row.part)) return &row;
  return nullptr;
}

std::optional<LastLine> known_line(std::span<const std::string> log, std::span<const KnownLine> known) {
  for (const std::span<const KnownLine> rows : {known, common_lines()})
    for (const KnownLine& row : rows)
      for (const std::string& line : std::views::reverse(log))
        if (plain_case(line).contains(row.part)) return LastLine{line, &row};
  return std::nullopt;
}

std::optional<LastLine> last_line(std::span<const std::string> log, std::span<const KnownLine> known) {
  if (auto best = known_line(log, known)) return best;
  int most = 0;
  std::optional<LastLine> best;
  for (const std::string& line : log) {
    if (is_of_systemd(line)) continue;
    if (const int worth = weight(line); worth > 0 && worth >= most) most = worth, best = LastLine{line};
  }
  return best;
}

std::string LastLine::message() const {
  return known && !known->cause.empty() ? std::string(known->cause) : plain_line(line);
}

std::string LastLine::evidence(std::string_view where) const {
  return fmt::format("{}: {}{}", where, base::printable(base::trim(line), 600),
                     known ? "" : "; gpuadm does not know this message");
}

std::string LastLine::remedy(std::string_view otherwise) const {
  return std::string(known && !known->remedy.empty() ? known->remedy : otherwise);
}

}  // namespace checks
