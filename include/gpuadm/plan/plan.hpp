#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// Which step on which host in which phase, as a value that can be printed and compared.
namespace plan {

using base::Result;

enum class Kind { shell, file, wait, upload };

/// One step on one host, rendered: nothing is left to decide but what earlier steps save.
struct Action {
  std::string id, title;
  Kind kind = Kind::shell;
  base::Variables variables;       ///< set at the head of the program
  std::string check, apply;        ///< bodies; a wait has no apply
  std::string needs_reboot;        ///< a body; empty: it never does
  std::vector<std::string> later;  ///< names of saved variables it reads
  std::string saves, shares, judge;
  std::chrono::seconds timeout{60};
  playbook::Effects effects;
  std::string path;                            ///< of a file
  std::optional<std::filesystem::path> input;  ///< of an upload: the local file
  /// What it works on changes by itself while a cluster runs: that such a step is new in a plan, or another,
  /// is no reason to ask again.
  bool drifts = false;
};

/// A host's way through a phase.
struct Walk {
  std::string host;
  std::vector<Action> actions;
};

/// A phase is a barrier; inside it hosts go on independently.
struct Stage {
  std::string name, title;
  bool refresh = false;
  std::vector<Walk> walks;
  int at_once = 0;  ///< as Phase::at_once
};

struct Plan {
  std::string playbook;
  std::string prelude;
  std::vector<Stage> stages;
  bool independent = false;                ///< as Playbook::independent
  std::set<std::string> vital;             ///< hosts without which the others stop: control planes
  std::string depot;                       ///< playbooks/depot.sh; empty: uploads go straight to their step
  [[nodiscard]] std::size_t size() const;  ///< actions
};

/// Hosts that go through phases with `each` together.
struct Batch {
  std::vector<std::string> hosts;
  base::Variables given;  ///< further variables that steps of these phases may read
};

/// Which phases to leave out.
struct Choice {
  std::vector<std::string> phases;       ///< only these; empty: all
  std::vector<std::string> skip_phases;  ///< not these
  /// Checks that found something, by host: only steps that mend one of them.
  std::optional<std::map<std::string, std::set<std::string>>> fixes;
  base::Variables given;  ///< further variables that steps may read
  /// Of phases with `each`, in their order; empty: every host alone. A host that fails is away then, and no
  /// other one is taken away.
  std::vector<Batch> batches;
  /// What gpuadm itself carries, for uploads that say so; nullptr: those are left out.
  const bundle::Bundle* carried = nullptr;
};

/// Whether a phase is part of the run.
[[nodiscard]] bool is_chosen(const std::string& phase, const Choice& choice);

/// Fault::usage for a phase that the playbook does not have, with the nearest.
[[nodiscard]] Result<> known_phases(const playbook::Playbook& playbook, const Choice& choice);

/// Hosts that have facts and on which some chosen step reads this variable.
[[nodiscard]] std::vector<std::string> hosts_that_read(const std::string& variable,
                                                       const spec::Cluster& cluster,
                                                       const facts::Census& census,
                                                       const playbook::Library& library,
                                                       const bundle::Bundle* bundle, const Choice& choice);

/// Renders a playbook for every host that has facts. Errors name the step and what is missing.
[[nodiscard]] Result<Plan> make(const spec::Cluster& cluster, const facts::Census& census,
                                const playbook::Library& library, const bundle::Bundle* bundle,
                                const Choice& choice);

/// What `now` does that `before` did not: "HOST: TITLE (REASON)" for each step that is new or another. Steps
/// that are gone, or that drift, do not count.
[[nodiscard]] std::vector<std::string> additions(const Plan& before, const Plan& now);

/// For plan.json and the plan cases: no prelude; contents of files by their SHA-256.
[[nodiscard]] base::Tree to_tree(const Plan& plan);

}  // namespace plan
