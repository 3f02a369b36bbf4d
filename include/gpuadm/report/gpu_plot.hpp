#pragma once

#include <string>
#include <vector>

namespace report {

/// A value over time at equal distances. NaN: unknown then.
struct PlotLine {
  std::string title, unit;
  double top = 100;  ///< the end of the axis, which begins at 0
  std::vector<float> mean, most;
};

/// Who used a GPU, and when.
struct PlotUse {
  std::string label, from, to;  ///< times of day
  double most_mib = -1;         ///< below 0: unknown
};

/// One GPU over time.
struct GpuPlot {
  std::string host, gpu, model, uuid;
  std::vector<PlotLine> lines;
  std::vector<float> throttled;      ///< share of the time, 0 to 1; NaN: unknown
  std::vector<std::string> reasons;  ///< that were seen
  std::vector<PlotUse> uses;
  std::size_t more_uses = 0;  ///< that are not listed
};

struct PlotPage {
  std::string title;                    ///< "4 GPUs on 2 hosts"
  std::string from, to;                 ///< "2026-11-26 10:00:00"
  std::string resolution;               ///< "1 sample every 2s"
  std::vector<std::string> time_marks;  ///< times of day at equal distances, from the first to the last
  std::vector<GpuPlot> gpus;
  std::vector<std::string> notes;  ///< sentences about GPUs in quarantine and hosts without readings
};

/// A self-contained page: one plot per GPU and value, as inline SVG; no script, and nothing is loaded from
/// elsewhere. Light and dark follow the system.
[[nodiscard]] std::string to_html(const PlotPage& page);

}  // namespace report
