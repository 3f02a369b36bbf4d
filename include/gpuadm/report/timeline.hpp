#pragma once

#include <string>
#include <vector>

namespace report {

/// A state over a time. Unknown is a gap.
enum class Condition { good, warning, bad, excluded };

struct TimelineSpan {
  double from = 0, to = 0;  ///< seconds since 1970
  Condition condition = Condition::good;
  std::string message;  ///< "GPUHealthy is False: Xid 79 (gpu.health.xid-fatal)"
};

struct TimelineBar {
  std::string label;
  std::vector<TimelineSpan> spans;
};

/// A change, for the table below the bars.
struct TimelineChange {
  std::string at, message;
};

struct TimelineHost {
  std::string host;
  std::vector<TimelineBar> bars;
  std::vector<TimelineChange> changes;
};

struct TimelinePage {
  std::string title;        ///< "Health of 2 hosts"
  double from = 0, to = 0;  ///< seconds since 1970
  std::vector<TimelineHost> hosts;
};

/// A self-contained page: a bar for each condition and GPU, as inline SVG, and a table of the changes; no
/// script, and nothing is loaded from elsewhere. States differ by height as well as by color.
[[nodiscard]] std::string to_html(const TimelinePage& page);

}  // namespace report
