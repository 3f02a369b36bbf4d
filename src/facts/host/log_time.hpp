#pragma once

#include "gpuadm/facts/facts.hpp"

#include <optional>
#include <string_view>

namespace facts {

/// The time of a line of the kernel log, and the rest of it.
struct TimedText {
  std::optional<double> seconds;  ///< after boot; nothing: it has a date, and the host's boot time is unknown
  bool relative = false;          ///< `seconds` are relative to the previous line
  std::string_view text;
};

/// Parses the formats of dmesg, journalctl and syslog: seconds after boot, `dmesg -T`, `--human` and
/// `--time-format=iso`, `journalctl -k -o short…`, and /var/log/kern.log, each with or without the priority
/// `<4>` before it. Nothing if a line has no time.
[[nodiscard]] std::optional<TimedText> timed_text(std::string_view line, const Facts& host);

}  // namespace facts
