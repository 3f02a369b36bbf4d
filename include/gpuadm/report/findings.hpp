#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>

namespace report {

/// The first broken link over all hosts: of the unexplained failures, the one whose chain has the highest
/// severity, then the first in the order of the checks. Nothing if there is no open blocker or warning.
[[nodiscard]] std::optional<Chain> first_broken(std::span<const Finding> findings);

/// Every chain with a failure, of all hosts, the most important first.
[[nodiscard]] std::vector<Chain> broken_chains(std::span<const Finding> findings);

/// One line for people: the first broken link, or without blockers the first warning, its hosts, and the
/// number of findings that follow; or that nothing is broken; and the number of unknown checks.
[[nodiscard]] std::string headline(std::span<const Finding> findings, const Style& style);

/// For people: the headline, then the details.
[[nodiscard]] std::string to_text(std::span<const Finding> findings, const Style& style);

/// For a screen of 24 rows: warnings in a line each, blockers last and in full, the first broken link at the
/// end; notes and unknown checks as counts.
[[nodiscard]] std::string short_details(std::span<const Finding> findings, const Style& style);

/// The headline, the other warnings in a line each, and counts: the text before a plan. stopped() lists the
/// blockers.
[[nodiscard]] std::string short_text(std::span<const Finding> findings, const Style& style);

/// Grouped by host, blockers first, explained findings below their cause, one remedy each; passes counted
/// (`verbose` lists them). Ends with a summary line.
[[nodiscard]] std::string details(std::span<const Finding> findings, const Style& style);

/// {summary: {blockers, warnings, notes, passed, skipped, unknown}, first: {id, host, follow} of the first
/// broken link, or null, findings: [one object per result]}.
[[nodiscard]] base::Tree to_tree(std::span<const Finding> findings);

/// The same document, one finding per line, in pieces: for many hosts it is large.
/// `stages`: what each host was checked as, if that depends on the host.
void write_json(std::span<const Finding> findings, const Write& write,
                const std::map<std::string, std::string>& stages = {});

/// JUnit XML: a suite per host, a test case per result; unknown results are errors.
[[nodiscard]] std::string to_junit(std::span<const Finding> findings);

/// One self-contained HTML page: summary, hosts by areas, findings with evidence and consequences.
[[nodiscard]] std::string to_html(std::span<const Finding> findings, std::string_view cluster, base::Time at);

/// For Prometheus' textfile collector: gpuadm_finding, gpuadm_checks, gpuadm_doctor_timestamp_seconds.
[[nodiscard]] std::string to_prometheus(std::span<const Finding> findings, base::Time at);

/// The end of a run that findings blocked: the blockers, that nothing was changed, what to run next. Empty
/// without blockers.
[[nodiscard]] std::string stopped(std::span<const Finding> findings, const Style& style);

/// Whether a finding blocks the run: a failed, unknown or timed-out check of severity blocker.
[[nodiscard]] bool blocks(const Finding& finding);

}  // namespace report
