#pragma once

#include "gpuadm/facts/facts.hpp"

#include <optional>
#include <string_view>

namespace facts {

/// When a line of the kernel's log was written, and the rest of it.
struct TimedText {
  std::optional<double>
      seconds;            ///< after boot; nothing: it has a date, and when the host booted is not known
  bool relative = false;  ///< `seconds` count from the line before
  std::string_view text;
};

/// Reads the forms that dmesg, journalctl and syslog write: seconds after boot, `dmesg -T`, `--human` and
/// `--time-format=iso`, `journalctl -k -o short…`, and /var/log/kern.log, each with or without the priority
/// `<4>` before it. Nothing where a line has no time.
[[nodiscard]] std::optional<TimedText> timed_text(std::string_view line, const Facts& host);

}  // namespace facts
