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

/// The first broken link over all hosts: of the failures that nothing explains, the one whose chain has the
/// gravest, then the one that comes first in the order of the checks. Nothing where no blocker and no warning
/// is open.
[[nodiscard]] std::optional<Chain> first_broken(std::span<const Finding> findings);

/// One line for people: the first broken link, or where nothing blocks the first warning, on which hosts, and
/// how much follows from it; or that nothing is broken; and how many checks are unknown.
[[nodiscard]] std::string headline(std::span<const Finding> findings, const Style& style);

/// For people: the headline, then the details.
[[nodiscard]] std::string to_text(std::span<const Finding> findings, const Style& style);

/// For a screen of 24 rows: warnings in a line each, blockers last and in full, the first broken link at the
/// end; notes and what is unknown as counts.
[[nodiscard]] std::string short_details(std::span<const Finding> findings, const Style& style);

/// The headline, the other warnings in a line each, and counts: what is said before a plan. stopped() lists
/// the blockers.
[[nodiscard]] std::string short_text(std::span<const Finding> findings, const Style& style);

/// Grouped by host, blockers first, what is explained by another finding under it, one remedy
/// each; passes counted (`verbose` names them). Ends with one line for all.
[[nodiscard]] std::string details(std::span<const Finding> findings, const Style& style);

/// {summary: {blockers, warnings, notes, passed, skipped, unknown}, first: {id, host, follow} of the first
/// broken link, or null, findings: [one object a result]}.
[[nodiscard]] base::Tree to_tree(std::span<const Finding> findings);

/// The same document, a finding a line, in pieces: of many hosts it is large.
/// `stages`: what each host was checked as, where that follows from the host.
void write_json(std::span<const Finding> findings, const Write& write,
                const std::map<std::string, std::string>& stages = {});

/// JUnit XML: a suite a host, a test case a result; what could not be told is an error.
[[nodiscard]] std::string to_junit(std::span<const Finding> findings);

/// One HTML page that needs nothing else: summary, hosts by areas, findings with evidence and what follows
/// from them.
[[nodiscard]] std::string to_html(std::span<const Finding> findings, std::string_view cluster, base::Time at);

/// For Prometheus' textfile collector: gpuadm_finding, gpuadm_checks, gpuadm_doctor_timestamp_seconds.
[[nodiscard]] std::string to_prometheus(std::span<const Finding> findings, base::Time at);

/// The end of a run that findings stopped: by which blockers, that nothing was changed, what to run next.
/// Empty where none blocks.
[[nodiscard]] std::string stopped(std::span<const Finding> findings, const Style& style);

/// Whether any finding forbids going on: a failed, unknown or timed-out check of severity blocker.
[[nodiscard]] bool blocks(const Finding& finding);

}  // namespace report
