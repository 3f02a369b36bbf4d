#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace base {

using Clock = std::chrono::steady_clock;  ///< for deadlines
using Instant = Clock::time_point;
using Time = std::chrono::system_clock::time_point;  ///< for reports
using Day = std::chrono::sys_days;                   ///< of the calendar, in UTC

[[nodiscard]] inline Time now() {
  return std::chrono::system_clock::now();
}
/// 2026-08-22T10:00:00.123Z
[[nodiscard]] std::string iso8601(Time time);
/// A time of RFC 3339 in seconds since 1970, with its fraction and its offset from UTC: what iso8601,
/// Kubernetes, Go and systemd write. Nothing: it is another form, or a date or an hour that does not exist. A
/// leap second counts as the next second.
[[nodiscard]] std::optional<double> parse_time(std::string_view text);
/// 20260822T100000Z, for file names.
[[nodiscard]] std::string stamp(Time time);

/// The day of now(); for tests of the age of data: the day in the environment variable GPUADM_TODAY.
[[nodiscard]] Day today();
/// "2026-11-29", or "2028-06": the last day of the month.
[[nodiscard]] std::optional<Day> parse_day(std::string_view text);
/// 2026-11-29
[[nodiscard]] std::string day_text(Day day);

}  // namespace base
