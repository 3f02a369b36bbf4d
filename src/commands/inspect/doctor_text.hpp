#pragma once

#include "gpuadm/facts/facts.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/doctor_options.hpp"
#include "commands/inspect/judge_status.hpp"

#include <string>
#include <vector>

namespace commands {

/// Adds to the remedies what was typed: machines read them as JSON, too.
void complete_remedies(std::vector<report::Finding>& findings, const report::Style& style);

/// The command to suggest: one that fixes or explains the first broken link; otherwise the next command for
/// such hosts. Empty: none, for a recording without a fault.
[[nodiscard]] std::string next_command(const std::vector<report::Finding>& findings,
                                       const facts::Census& census, const DoctorOptions& options);

/// A report for people, with the verdict of the cluster if it was read: on a terminal it fits the screen.
[[nodiscard]] std::string text_of(const std::vector<report::Finding>& findings,
                                  const session::ClusterSurvey& recording, const DoctorOptions& options,
                                  StatusJudge& judges, const report::Style& style);

}  // namespace commands
