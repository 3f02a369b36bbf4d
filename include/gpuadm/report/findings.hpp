#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <span>
#include <string>

namespace report {

/// For people: grouped by host, blockers first, what is explained by another finding under it, one remedy
/// each; passes counted (`verbose` names them). Ends with one line for all.
[[nodiscard]] std::string to_text(std::span<const Finding> findings, const Style& style);

/// {summary: {blockers, warnings, notes, passed, skipped, unknown}, findings: [one object a result]}.
[[nodiscard]] base::Tree to_tree(std::span<const Finding> findings);

/// Whether any finding forbids going on: a failed, unknown or timed-out check of severity blocker.
[[nodiscard]] bool blocks(const Finding& finding);

}  // namespace report
