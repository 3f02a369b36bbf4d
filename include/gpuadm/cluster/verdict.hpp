#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/cluster/gpu_chain.hpp"
#include "gpuadm/report/finding.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cluster {

enum class Health { well, ill, unknown };

/// A problem, its location ("the cluster", or a host), and what to type.
struct Problem {
  std::string where, what, remedy;
  std::vector<std::string> checks;  ///< ids of the checks whose findings at this place this is
};

/// What is known of a cluster. Every screen that judges a cluster shows this, from the same function.
struct Verdict {
  std::vector<Problem> problems;
  std::vector<Problem> unread;          ///< what could not be read, and why
  std::size_t unknown_checks = 0;       ///< checks that lack a reading; the doctor lists them
  [[nodiscard]] Health health() const;  ///< ill with a problem; otherwise unknown if something is unread
};

/// Completes what was read of the cluster itself with the results of the checks and of the chains. An
/// unexplained blocker is a problem, unless one of `seen` has its check, at the same place or, for a finding
/// of the whole cluster, anywhere; so is a broken link of a host without a problem. An unknown link is
/// unread.
[[nodiscard]] Verdict verdict_of(Verdict seen, std::span<const report::Finding> findings,
                                 std::span<const GpuChain> chains);

/// One sentence: "Cluster is healthy", "2 problems found; 1 reading is missing".
[[nodiscard]] std::string to_text(const Verdict& verdict);
/// The same with the cluster's name: "Cluster lab is healthy", "Cluster lab: 2 problems found".
[[nodiscard]] std::string to_text(const Verdict& verdict, const std::string& cluster);

/// {health, text, problems, unread}
[[nodiscard]] base::Tree to_tree(const Verdict& verdict);
/// A list of {where, what, remedy}.
[[nodiscard]] base::Tree to_tree(const std::vector<Problem>& problems);

}  // namespace cluster
