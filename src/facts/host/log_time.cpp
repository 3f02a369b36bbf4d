#include "facts/host/log_time.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/text/words.hpp"

#include <algorithm>
#include <chrono>

namespace facts {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A number of at least one digit at the beginning, which is removed.
std::optional<int> take_number(std::string_view& text, std::size_t most) {
  std::size_t digits = 0;
  while (digits < std::min(most, text.size()) && is_digit(text[digits])) ++digits;
  const auto number = base::to_int(text.substr(0, digits));
  if (digits == 0 || !number) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<int>(*number);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// "Nov" is 11.
std::optional<int> month_of(std::string_view name) {
  static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = name.size() == 3 ? months.find(name) : std::string_view::npos;
  return at == std::string_view::npos || at % 3 != 0 ? std::nullopt
                                                     : std::optional(static_cast<int>(at / 3) + 1);
}

struct Moment {
  int year = 0, month = 0, day = 0;
  double seconds = 0;  ///< of the day
};

/// "12:34:56.789", "12:34:56,789", "12:34"
bool take_time(std::string_view& text, Moment& moment) {
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ':')) return false;
  const auto minute = take_number(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return false;
  moment.seconds = *hour * 3600 + *minute * 60;
  if (!take(text, ':')) return true;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return false;
  moment.seconds += *second;
  if (!text.empty() && (text[0] == '.' || text[0] == ',') && text.size() > 1 && is_digit(text[1])) {
    text.remove_prefix(1);
    (void)take_number(text, 9);
  }
  return true;
}

/// "+0100", "+01:00", "Z", or nothing, in seconds.
std::optional<double> take_zone(std::string_view& text) {
  if (take(text, 'Z')) return 0.0;
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const double sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  (void)take(text, ':');
  const auto minutes = take_number(text, 2);
  return sign * (hours.value_or(0) * 3600 + minutes.value_or(0) * 60);
}

std::optional<double> seconds_of(const Moment& moment) {
  const std::chrono::year_month_day date{std::chrono::year(moment.year),
                                         std::chrono::month(static_cast<unsigned>(moment.month)),
                                         std::chrono::day(static_cast<unsigned>(moment.day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(days).count()) + moment.seconds;
}

/// Seconds after boot of a moment; without a time zone, in the host's; without a year, the last such day.
std::optional<double> after_boot(Moment moment, std::optional<double> zone, const Facts& host) {
  if (!host.clock.probe_begin || !host.kernel.uptime) return std::nullopt;
  std::string_view own = host.clock.utc_offset;
  const double offset = zone ? *zone : take_zone(own).value_or(0);
  const bool has_year = moment.year != 0;
  if (!has_year) {
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(
        std::chrono::seconds(static_cast<std::int64_t>(*host.clock.probe_begin + offset))));
    moment.year = static_cast<int>(std::chrono::year_month_day(today).year());
  }
  auto seconds = seconds_of(moment);
  if (seconds && !has_year && *seconds - offset > *host.clock.probe_begin + 86'400) {
    --moment.year;
    seconds = seconds_of(moment);
  }
  if (!seconds) return std::nullopt;
  return std::max(0.0, *seconds - offset - (*host.clock.probe_begin - *host.kernel.uptime));
}

/// Text in brackets: "  12.345678", "Tue Nov 25 02:26:50 2026", "Nov25 02:26", "  +0.000123".
std::optional<TimedText> in_brackets(std::string_view inside, std::string_view rest, const Facts& host) {
  std::string_view trimmed = base::trim(inside);
  if (const auto seconds = base::to_real(trimmed)) return TimedText{seconds, false, rest};
  if (take(trimmed, '+')) {
    const auto seconds = base::to_real(trimmed);
    return seconds ? std::optional(TimedText{seconds, true, rest}) : std::nullopt;
  }
  const auto words = base::words(trimmed);
  Moment moment;
  if (words.size() == 5) {
    const auto month = month_of(words[1]);
    const auto day = count(words[2]), year = count(words[4]);
    std::string_view time = words[3];
    if (!month || !day || !year || *year > 9999 || *day > 31 || !take_time(time, moment) || !time.empty())
      return std::nullopt;
    moment.month = *month, moment.day = static_cast<int>(*day), moment.year = static_cast<int>(*year);
    return TimedText{after_boot(moment, {}, host), false, rest};
  }
  if (words.size() != 2) return std::nullopt;
  const auto month = month_of(words[0].substr(0, 3));
  const auto day = words[0].size() > 3 ? count(words[0].substr(3)) : std::nullopt;
  std::string_view time = words[1];
  if (!month || !day || *day > 31 || !take_time(time, moment) || !time.empty()) return std::nullopt;
  moment.month = *month, moment.day = static_cast<int>(*day);
  return TimedText{after_boot(moment, {}, host), false, rest};
}

/// "2026-11-25T02:26:50,123456+00:00 text"
std::optional<TimedText> with_iso_time(std::string_view line, const Facts& host) {
  Moment moment;
  const auto year = take_number(line, 4);
  if (!year || !take(line, '-')) return std::nullopt;
  const auto month = take_number(line, 2);
  if (!month || !take(line, '-')) return std::nullopt;
  const auto day = take_number(line, 2);
  if (!day || (!take(line, 'T') && !take(line, ' ')) || !take_time(line, moment)) return std::nullopt;
  moment.year = *year, moment.month = *month, moment.day = *day;
  const auto zone = take_zone(line);
  if (!line.starts_with(' ')) return std::nullopt;
  return TimedText{after_boot(moment, zone, host), false, line};
}

/// "Nov 25 02:26:50 node1 kernel: text"
std::optional<TimedText> with_syslog_time(std::string_view line, const Facts& host) {
  const auto words = base::words(line);
  Moment moment;
  const auto month = words.size() > 3 ? month_of(words[0]) : std::nullopt;
  const auto day = month ? count(words[1]) : std::nullopt;
  if (!day || *day > 31) return std::nullopt;
  std::string_view time = words[2];
  if (!take_time(time, moment) || !time.empty()) return std::nullopt;
  moment.month = *month, moment.day = static_cast<int>(*day);
  return TimedText{after_boot(moment, {}, host), false,
                   line.substr(static_cast<std::size_t>(time.data() - line.data()))};
}

/// Priorities: "<4>" and "kern  :warn  : ".
std::string_view without_priority(std::string_view line) {
  if (line.starts_with('<')) {
    std::string_view rest = line.substr(1);
    if (take_number(rest, 3) && take(rest, '>')) return base::trim(rest);
  }
  if (const std::size_t time = line.find(": [");
      time < 20 && line.substr(0, time).find(':') != std::string_view::npos)
    return line.substr(time + 2);
  return line;
}

}  // namespace

std::optional<TimedText> timed_text(std::string_view line, const Facts& host) {
  line = without_priority(base::trim(line));
  if (line.empty()) return std::nullopt;
  if (line.starts_with('[')) {
    const std::size_t end = line.find(']');
    return end == std::string_view::npos ? std::nullopt
                                         : in_brackets(line.substr(1, end - 1), line.substr(end + 1), host);
  }
  return is_digit(line.front()) ? with_iso_time(line, host) : with_syslog_time(line, host);
}

}  // namespace facts
