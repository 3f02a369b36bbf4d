#pragma once

#include "gpuadm/checks/checks.hpp"
#include "gpuadm/report/finding.hpp"

#include "commands/shared_options.hpp"

/// The options of `gpuadm doctor`, and what they select.
namespace commands {

struct DoctorOptions {
  Common common;
  Hosts hosts;
  bool list = false;
  std::vector<std::string> only, skip;  ///< ids; a prefix ending in a dot means all below it
  std::string stage;  ///< preflight, node, cluster, security; empty: what applies to each host
  /// The lowest severity that makes the outcome `blocked`; none: no finding does.
  std::optional<report::Severity> fail_on = report::Severity::blocker;
  bool fail_on_unknown = false;    ///< unknown results also block
  std::filesystem::path baseline;  ///< findings.json of an earlier run, whose open findings are not shown
  std::filesystem::path record;    ///< directory for the recording; see docs/reference/recordings.md
  std::filesystem::path from;      ///< a recording to check instead of hosts
  /// One of gpuadm's built-in recordings of faults to check instead of hosts; empty: list them.
  std::optional<std::string> demo;
  std::filesystem::path bundle;  ///< source of the installation; empty: repositories
  bool fix = false;              ///< apply safe fixes; `consent` applies to them
  Consent consent = Consent::ask;
  int watch = 0;  ///< seconds between two surveys; 0: one survey
  Format format = Format::text;
};

/// Declares the options of `gpuadm doctor`.
void add_doctor(Line& line, DoctorOptions& options);

/// The requested stage.
[[nodiscard]] checks::Stage stage_of(const DoctorOptions& options);

/// Whether `--only` and `--skip` select the check with this id.
[[nodiscard]] bool wanted(const DoctorOptions& options, std::string_view id);

/// Whether a finding causes exit code 3 under `--fail-on`.
[[nodiscard]] bool fails(const report::Finding& finding, const DoctorOptions& options);

}  // namespace commands
