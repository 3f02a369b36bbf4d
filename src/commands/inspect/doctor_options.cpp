#include "commands/inspect/doctor_options.hpp"

#include "gpuadm/session/findings.hpp"

#include <algorithm>

namespace commands {

checks::Stage stage_of(const DoctorOptions& options) {
  return session::stage_named(options.stage).value_or(checks::Stage::preflight);
}

bool wanted(const DoctorOptions& options, std::string_view id) {
  const auto listed = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns,
                               [&](const std::string& pattern) { return session::matches(id, pattern); });
  };
  return (options.only.empty() || listed(options.only)) && !listed(options.skip);
}

bool fails(const report::Finding& finding, const DoctorOptions& options) {
  if (finding.verdict == report::Verdict::unknown) return options.fail_on_unknown;
  return options.fail_on && finding.severity >= *options.fail_on &&
         (finding.verdict == report::Verdict::fail || finding.verdict == report::Verdict::timeout);
}

}  // namespace commands
