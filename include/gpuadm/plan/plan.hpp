#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The steps of a run by host and phase, as a value that can be printed and compared.
namespace plan {

using base::Result;

enum class Kind { shell, file, wait, upload };

/// One step on one host, rendered: only values that earlier steps save are open.
struct Action {
  std::string id, title;
  Kind kind = Kind::shell;
  base::Variables variables;       ///< set at the beginning of the program
  std::string check, apply;        ///< bodies; a wait has no `apply`
  std::string needs_reboot;        ///< a body; empty: never
  std::vector<std::string> later;  ///< names of saved variables that it reads
  std::string saves, shares, judge;
  std::chrono::seconds timeout{60};
  playbook::Effects effects;
  std::string path;                            ///< of a file
  std::optional<std::filesystem::path> input;  ///< of an upload: the local file
  /// Uploads of a host that follow each other and have the same name here are first received, then installed
  /// several at a time. Empty: alone.
  std::string together;
  /// Its target changes by itself while a cluster is running: if such a step is new or different in a plan,
  /// the run does not ask again.
  bool drifts = false;
};

/// The actions of a host in a phase.
struct Walk {
  std::string host;
  std::vector<Action> actions;
};

/// A phase is a barrier; inside it, hosts proceed independently.
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
  bool independent = false;     ///< as Playbook::independent
  std::set<std::string> vital;  ///< hosts whose failure stops the others: control planes
  std::string depot;            ///< playbooks/depot.sh; empty: uploads are sent directly to their step
  [[nodiscard]] std::size_t size() const;  ///< actions
};

/// Hosts that execute phases with `each` together.
struct Batch {
  std::vector<std::string> hosts;
  base::Variables given;  ///< additional variables for the steps of these phases
};

/// The selected part of a playbook.
struct Choice {
  std::vector<std::string> phases;       ///< only these; empty: all
  std::vector<std::string> skip_phases;  ///< except these
  /// Checks with findings, by host: only steps that fix one of them.
  std::optional<std::map<std::string, std::set<std::string>>> fixes;
  base::Variables given;  ///< additional variables for steps
  /// For phases with `each`, in order; empty: each host separately. If a host fails, it is unavailable, and
  /// the following batches are not started.
  std::vector<Batch> batches;
  /// Files that gpuadm itself contains, for uploads of them; nullptr: those uploads are omitted.
  const bundle::Bundle* carried = nullptr;
};

/// Whether a phase is part of the run.
[[nodiscard]] bool is_chosen(const std::string& phase, const Choice& choice);

/// Fault::usage for an unknown phase, with the nearest name.
[[nodiscard]] Result<> known_phases(const playbook::Playbook& playbook, const Choice& choice);

/// Hosts with facts on which a selected step reads this variable.
[[nodiscard]] std::vector<std::string> hosts_that_read(const std::string& variable,
                                                       const spec::Cluster& cluster,
                                                       const spec::Decisions& decisions,
                                                       const facts::Census& census,
                                                       const playbook::Library& library,
                                                       const bundle::Bundle* bundle, const Choice& choice);

/// Renders a playbook for every host with facts. Errors contain the step and the missing value.
[[nodiscard]] Result<Plan> make(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                const facts::Census& census, const playbook::Library& library,
                                const bundle::Bundle* bundle, const Choice& choice);

/// The steps of `now` that are not in `before`: "HOST: TITLE (REASON)" for each new or different step.
/// Removed steps and steps that drift are ignored.
[[nodiscard]] std::vector<std::string> additions(const Plan& before, const Plan& now);

/// The text of plan.json: without prelude; contents of files by their SHA-256. Only one stage at a time is in
/// memory as a Tree.
[[nodiscard]] std::string to_json(const Plan& plan);

}  // namespace plan
