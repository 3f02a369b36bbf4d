#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/options.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace session {

using base::Result;

/// Fault::usage for a pattern that matches none of these checks, with the nearest. known_ids() is the same
/// for every_check().
[[nodiscard]] base::Result<> known_among(std::span<const std::string> patterns,
                                         std::span<const checks::About> rows);

/// The id of the finding for an unreachable host; all other findings come from the table of checks.
inline constexpr std::string_view reachable = "host.ssh.reachable";

/// All sources of findings: reachability, then the table of checks.
[[nodiscard]] std::vector<checks::About> every_check();

/// "preflight,node" for the bits of checks::About::stages.
[[nodiscard]] std::string stages_of(unsigned stages);

/// The stage with a name; nothing: unknown.
[[nodiscard]] std::optional<checks::Stage> stage_named(std::string_view name);

/// host.ssh.reachable for every unreachable host.
[[nodiscard]] std::vector<report::Finding> unreached_in(const facts::Census& census);

/// Every finding of a stage: unreachable hosts (host.ssh.reachable) first, then the results of the checks.
[[nodiscard]] Result<std::vector<report::Finding>> find(const spec::Cluster& cluster,
                                                        const spec::Decisions& decisions,
                                                        const facts::Census& census,
                                                        const assets::Store& assets, checks::Stage stage);

/// Findings with these ids no longer block: blockers become warnings. Fault::usage for an unknown id, with
/// the nearest.
[[nodiscard]] Result<> ignore(std::vector<report::Finding>& findings, std::span<const std::string> ids);

/// Whether findings block the run; reports them and the next command on io.err.
[[nodiscard]] bool stops(std::span<const report::Finding> findings, Io& io);

/// Whether an id is the pattern or belongs to its group: "sec.cis" and "sec.cis." match sec.cis.5.1.1.
[[nodiscard]] bool matches(std::string_view id, std::string_view pattern);

/// Fault::usage for a pattern that matches no check, with the nearest.
[[nodiscard]] Result<> known_ids(std::span<const std::string> patterns);

}  // namespace session
