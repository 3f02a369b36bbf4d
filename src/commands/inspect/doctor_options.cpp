#include "commands/inspect/doctor_options.hpp"

#include "gpuadm/session/findings.hpp"

#include <algorithm>

namespace commands {

namespace {

void add_fail_on(Line& line, DoctorOptions& options) {
  line.words(
      "--fail-on", {"blocker", "warning", "note", "never", "unknown"},
      [&options](const std::string& name) {
        if (name == "unknown") options.fail_on_unknown = true;
        if (name == "never") options.fail_on.reset();
        for (const auto severity :
             {report::Severity::blocker, report::Severity::warning, report::Severity::note})
          if (name == report::name_of(severity)) options.fail_on = severity;
      },
      "SEVERITY[,unknown]",
      "Lowest severity that causes exit code 3 (default blocker); add unknown to include "
      "results that could not be determined");
}

}  // namespace

void add_doctor(Line& line, DoctorOptions& options) {
  add_hosts(line, options.hosts);
  add_connection(line, options.common);
  line.flag("--list", options.list, "List all checks without connecting to any host");
  line.list("--only", options.only, "ID,...", "Run only these checks; a prefix such as gpu selects a group");
  line.list("--skip", options.skip, "ID,...", "Skip these checks");
  line.value("--stage", options.stage, "STAGE",
             "preflight: before installation; node: hosts that are nodes; "
             "cluster: the cluster as seen by its control plane; security: the CIS Kubernetes "
             "Benchmark; default: what applies to each host, without security")
      .one_of({"preflight", "node", "cluster", "security"});
  add_fail_on(line, options);
  line.value("--baseline", options.baseline, "FILE", "Show only findings that are not in this findings.json");
  line.value("--bundle", options.bundle, "DIR|FILE",
             "Check for an installation from this bundle (directory or archive)");
  line.value("--record", options.record, "DIR",
             "Save the collected data, without secrets and with names and addresses replaced");
  line.value("--from", options.from, "DIR", "Check a recording instead of connecting to hosts");
  line.maybe("--demo", options.demo, "[NAME]",
             "Check a built-in recording of a host with this fault; without a name: list them");
  line.attached("--watch", options.watch, "10", "[=SECONDS]",
                "Repeat every N seconds (default 10) until Ctrl-C: in place on a terminal, otherwise "
                "one line per change")
      .range(1, 86400);
  add_format(line, options.format,
             {{"html", Format::html},
              {"json", Format::json},
              {"junit", Format::junit},
              {"prometheus", Format::prometheus},
              {"text", Format::text}});
  const Option fix =
      line.flag("--fix", options.fix,
                "Apply safe fixes: none that needs a reboot, a drain, or a restart of running pods; "
                "gpuadm undo reverts them");
  add_consent(line, options.consent, fix);
}

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
