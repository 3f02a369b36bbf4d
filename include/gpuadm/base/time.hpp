#pragma once

#include <chrono>
#include <string>

namespace base {

using Clock = std::chrono::steady_clock;  ///< for deadlines
using Instant = Clock::time_point;
using Time = std::chrono::system_clock::time_point;  ///< for reports

[[nodiscard]] inline Time now() {
  return std::chrono::system_clock::now();
}
/// 2026-08-22T10:00:00.123Z
[[nodiscard]] std::string iso8601(Time time);
/// 20260822T100000Z, for file names.
[[nodiscard]] std::string stamp(Time time);

}  // namespace base
