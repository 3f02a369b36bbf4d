#pragma once

#include <string>
#include <vector>

namespace report {

/// An amount for each step of a time, of which a part is filled.
struct BarChart {
  std::string title, summary;  ///< summary: a sentence, also for screen readers
  std::vector<double> whole, part;
};

struct BarPage {
  std::string title, subtitle;     ///< sentences
  std::string whole, part, unit;   ///< "held", "used", "GPUs"
  double top = 1;                  ///< the end of the axis of all charts, which begins at 0
  std::vector<std::string> steps;  ///< "2026-11-30 10:00Z", of each bar
  std::vector<std::string> head;   ///< of the table
  std::vector<std::vector<std::string>> rows;
  std::vector<BarChart> charts;
  std::vector<std::string> notes;
};

/// A self-contained page: a table, and a chart each as inline SVG; no script, and nothing is loaded from
/// elsewhere. A part is drawn before its whole, from the bottom.
[[nodiscard]] std::string to_html(const BarPage& page);

}  // namespace report
