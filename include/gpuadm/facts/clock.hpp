#pragma once

#include <optional>
#include <string>

namespace facts {

/// The host's clock and its time source.
struct Clock {
  std::optional<double> probe_begin, probe_end;  ///< this host's time at the beginning and end of the probe
  std::optional<double> offset;  ///< seconds that this host's clock is ahead of ours: see place_clock()
  std::optional<bool> synchronized;
  std::optional<std::string> server;  ///< the server that chrony uses; empty: none
  std::string source;                 ///< of the kernel: "tsc"
  std::string utc_offset;
};

}  // namespace facts
