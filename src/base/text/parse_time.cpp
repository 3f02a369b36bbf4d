#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"

#include <algorithm>
#include <cstdint>

namespace base {

namespace {

/// Takes exactly so many digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  const std::string_view digits = text.substr(0, count);
  if (digits.size() != count || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(count);
  return static_cast<int>(to_int(digits).value_or(0));
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// ".123", or nothing at all. Nothing if a point has no digits after it.
std::optional<double> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return 0.0;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  const auto fraction = end > 1 ? to_real("0" + std::string(text.substr(0, end))) : std::nullopt;
  text.remove_prefix(end);
  return fraction;
}

/// "Z", "+02:00", "-05:30": in seconds.
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, 'Z')) return 0;
  const bool west = text.starts_with('-');
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<double> parse_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, 'T')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days * 86400 + *hour * 3600 + *minute * 60 + *second - *offset) + *fraction;
}

}  // namespace base
