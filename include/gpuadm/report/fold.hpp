#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/report/style.hpp"

#include <span>
#include <string>
#include <vector>

namespace report {

/// Summary of a run, from its events alone.
struct HostReport {
  std::string host;
  int satisfied = 0, changed = 0, needed = 0, skipped = 0, failed = 0;  ///< steps
};

struct FailedStep {
  std::string host, stage, step, why, hint;
  std::string title;  ///< of the step
  /// The first broken link on the hosts, its evidence, and its remedy; empty: none was found.
  std::string cause, evidence, remedy;
};

struct Report {
  std::vector<HostReport> hosts;  ///< in order of appearance
  std::vector<FailedStep> failures;
  std::string same_hosts;  ///< what a suggested command needs after a host: " -f cluster.yaml"
  double seconds = 0;      ///< from the start of the run, otherwise from the first event, to the last event
  [[nodiscard]] int changed() const;
  [[nodiscard]] int needed() const;
};

[[nodiscard]] Report fold(std::span<const Event> events);
/// Failures, those with a known cause first, each with its reason and what to type; one line per host and a
/// summary line ("0 changed").
[[nodiscard]] std::string to_text(const Report& report, const Style& style);
[[nodiscard]] base::Tree to_tree(const Report& report);

}  // namespace report
