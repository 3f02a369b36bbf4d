#pragma once

#include "gpuadm/report/finding.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace report {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// Text in the exposition format of Prometheus. The samples of a metric follow its head.
class MetricsText {
 public:
  enum class Type { gauge, counter };
  /// `help`: one line.
  void head(std::string_view name, Type type, std::string_view help);
  /// A sample of the last head.
  void sample(const Labels& labels, double value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
};

/// gpuadm_finding for each finding that is open, and gpuadm_checks: results by host.
void add_findings(MetricsText& text, std::span<const Finding> findings);

}  // namespace report
