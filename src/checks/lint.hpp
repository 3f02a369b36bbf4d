#pragma once

#include "gpuadm/base/version.hpp"

#include "checks/check.hpp"
#include "checks/data.hpp"

#include <map>
#include <string>
#include <vector>

namespace checks {

/// A setting that a kubelet version rejects or ignores.
struct LintProblem {
  Severity severity = Severity::note;
  std::string says, evidence, remedy;
};

[[nodiscard]] std::vector<LintProblem> lint_gates(const std::map<std::string, bool>& gates,
                                                  const base::Version& kubernetes, const Data& data);
/// Flags as on a command line, "--flag=value"; gates in --feature-gates are linted, too.
[[nodiscard]] std::vector<LintProblem> lint_flags(const std::vector<std::string>& flags,
                                                  const base::Version& kubernetes, const Data& data);

/// Unknown models in gpu.models.
[[nodiscard]] std::vector<LintProblem> lint_models(const spec::Cluster& cluster, const Data& data);

}  // namespace checks
