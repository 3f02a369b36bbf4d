#include "gpuadm/base/time.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/chrono.h>

#include <cstdlib>

namespace base {

std::string iso8601(Time time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     milliseconds % 1000);
}

std::string stamp(Time time) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Day today() {
  const char* given = std::getenv("GPUADM_TODAY");
  const auto day = given ? parse_day(given) : std::nullopt;
  return day.value_or(std::chrono::floor<std::chrono::days>(now()));
}

std::optional<Day> parse_day(std::string_view text) {
  const bool whole_month = text.size() == 7;
  if ((!whole_month && text.size() != 10) || text[4] != '-' || (!whole_month && text[7] != '-'))
    return std::nullopt;
  const auto year = to_int(text.substr(0, 4)), month = to_int(text.substr(5, 2));
  const auto number = whole_month ? std::optional<long long>(1) : to_int(text.substr(8));
  if (!year || !month || !number || *year < 1 || *month < 1 || *month > 12 || *number < 1 || *number > 31)
    return std::nullopt;
  const std::chrono::year_month of{std::chrono::year(static_cast<int>(*year)),
                                   std::chrono::month(static_cast<unsigned>(*month))};
  const std::chrono::year_month_day day = of / std::chrono::day(static_cast<unsigned>(*number));
  if (!day.ok()) return std::nullopt;
  return whole_month ? Day(of / std::chrono::last) : Day(day);
}

std::string day_text(Day day) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(day)));
}

}  // namespace base
