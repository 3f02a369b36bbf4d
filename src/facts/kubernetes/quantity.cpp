#include "facts/kubernetes/quantity.hpp"

#include "gpuadm/base/text.hpp"

#include <array>
#include <chrono>
#include <cmath>

namespace facts {

std::optional<double> parse_quantity(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 15> units = {
      {{"Ki", 1024.0},
       {"Mi", 1048576.0},
       {"Gi", 1073741824.0},
       {"Ti", 1099511627776.0},
       {"Pi", 1125899906842624.0},
       {"Ei", 1152921504606846976.0},
       {"n", 1e-9},
       {"u", 1e-6},
       {"m", 1e-3},
       {"k", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"E", 1e18}}};
  double factor = 1;
  for (const auto& [unit, value] : units)
    if (text.size() > unit.size() && text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      factor = value;
      break;
    }
  const auto number = base::to_real(text);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  return *number * factor;
}

std::optional<double> parse_time(std::string_view text) {
  const auto part = [&](std::size_t at, std::size_t size) {
    return at + size <= text.size() ? base::to_int(text.substr(at, size)) : std::nullopt;
  };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2),
             minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second || text[10] != 'T') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59 || *second < 0 || *second > 60)
    return std::nullopt;
  const auto days =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::sys_days(date).time_since_epoch());
  return static_cast<double>(days.count() + *hour * 3600 + *minute * 60 + *second);
}

Amounts amounts_of(const base::Tree& resources) {
  Amounts amounts;
  for (const auto& [resource, value] : resources.entries())
    if (const auto amount = parse_quantity(value.text()))
      amounts[resource] = resource == "cpu" ? *amount * 1000 : *amount;
  return amounts;
}

}  // namespace facts
