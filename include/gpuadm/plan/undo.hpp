#pragma once

#include "gpuadm/plan/plan.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Converts the journal of a host (docs/reference/journal.md) into a plan that undoes runs.
namespace plan {

/// A changed object: kind (file, unit, sysctl, …) and name.
using Thing = std::pair<std::string, std::string>;

/// The output of playbooks/undo.sh on a host.
struct Journal {
  struct Line {
    Thing thing;
    std::string was, step, run;
  };
  std::vector<Line> lines;                                    ///< original states; oldest first
  std::map<std::pair<std::string, Thing>, std::string> made;  ///< run, thing -> the state after the run
  std::map<std::string, std::string> readers;                 ///< file -> the unit that reads it
  std::map<Thing, std::string> now;
  /// Packages whose state before a run, the second value, the package manager cannot restore, with the
  /// reason.
  std::map<std::pair<Thing, std::string>, std::string> lost;
  std::set<std::string> blobs;
  std::vector<std::string> unreadable;  ///< truncated or damaged lines
};
/// Fault::parse if the text is truncated.
[[nodiscard]] Result<Journal> read_journal(std::string_view text);

/// The selected runs; by default the last one that changed something.
struct Undo {
  std::string run;
  bool all = false;
  bool force = false;  ///< also restore what others have changed since
  /// The steps of playbooks/reset.yaml run first: a cluster does not block the undo, and if no run is
  /// selected, all runs back to the first one that worked on the cluster are undone.
  bool after_reset = false;
  /// Kinds of objects, and steps (or prefixes of their ids up to a dot), that are kept, also in the journal.
  std::vector<std::string> keep = {};
};

/// An object that is not restored, with the reason.
struct Kept {
  Thing thing;
  std::string why;
};

/// The undo of one host.
struct UndoPlan {
  std::vector<std::string> runs;                                    ///< newest first; empty: nothing to undo
  std::vector<std::pair<std::string, std::vector<Action>>> stages;  ///< phase -> actions
  std::vector<Kept> kept;
  /// Packages that were upgraded because a package of gpuadm needed it, and that stay upgraded: others may
  /// need them by now, and an older version may lack a security update.
  std::vector<std::string> upgraded;
  std::vector<std::string> unreadable;  ///< of the journal: their changes are not undone
};

/// Fault::blocked, before anything is changed, if something that depends on the runs cannot be undone: a
/// cluster, a newer run, a lost original. Fault::usage for a run that is not in the host's journal.
[[nodiscard]] Result<UndoPlan> undo_plan(const Journal& journal, const Undo& undo);

/// Whether gpuadm began to create a cluster on the host and kubeadm init or join did not finish. Undo then
/// also runs the steps of playbooks/reset.yaml.
[[nodiscard]] bool has_unfinished_cluster(const Journal& journal);

/// Whether the host is a node, whichever tool created it.
[[nodiscard]] bool has_cluster(const Journal& journal);

/// Fault::blocked if the host has a cluster that is not in its journal, unless forced.
[[nodiscard]] Result<> may_reset(const Journal& journal, bool force);

/// Phases of an undo in order, with titles.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> undo_phases();

/// The plan for hosts by name, without hosts that have nothing to undo. `prelude`: prelude.sh and undo.sh.
[[nodiscard]] Plan to_plan(const std::map<std::string, UndoPlan>& hosts, std::string prelude);

}  // namespace plan
