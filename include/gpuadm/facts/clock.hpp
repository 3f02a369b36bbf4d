#pragma once

#include <optional>
#include <string>

namespace facts {

/// The host's time, and what sets it.
struct Clock {
  std::optional<double> probe_begin, probe_end;  ///< this host's time when the probe began and ended
  std::optional<double> offset;                  ///< seconds this host is ahead of us: see place_clock()
  std::optional<bool> synchronized;
  std::optional<std::string> server;  ///< what chrony follows; empty: nothing
  std::string source;                 ///< of the kernel: "tsc"
  std::string utc_offset;
};

}  // namespace facts
