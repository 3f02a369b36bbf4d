#pragma once

#include "gpuadm/base/version.hpp"

#include "checks/check.hpp"
#include "checks/data.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace checks {

/// A setting that a kubelet version rejects or ignores.
struct LintProblem {
  Severity severity = Severity::note;
  std::string message, evidence, remedy;
};

[[nodiscard]] std::vector<LintProblem> lint_gates(const std::map<std::string, bool>& gates,
                                                  const base::Version& kubernetes, const Data& data);
/// Flags as on a command line, "--flag=value"; gates in --feature-gates are linted, too.
[[nodiscard]] std::vector<LintProblem> lint_flags(const std::vector<std::string>& flags,
                                                  const base::Version& kubernetes, const Data& data);

/// Why NVIDIA's DRA driver does not work with this version of Kubernetes: it needs resource.k8s.io/v1 with a
/// fix of 1.34.2 (docs/howto/older-clusters.md). Nothing: it works.
[[nodiscard]] std::optional<LintProblem> lint_dra(const base::Version& kubernetes);
/// The problem of installing a version of Kubernetes that is newer than data/kubernetes.csv.
[[nodiscard]] std::optional<LintProblem> lint_newer(const base::Version& kubernetes, const Data& data);

/// Unknown models in gpu.models.
[[nodiscard]] std::vector<LintProblem> lint_models(const spec::Cluster& cluster, const Data& data);

}  // namespace checks
