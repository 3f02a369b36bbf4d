#pragma once

#include "gpuadm/plan/plan.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What runs did to a host, taken back: the host's journal (docs/reference/journal.md) made into a plan.
namespace plan {

/// A file, unit, sysctl, …: kind and name.
using Thing = std::pair<std::string, std::string>;

/// What playbooks/undo.sh prints of a host.
struct Journal {
  struct Line {
    Thing thing;
    std::string was, step, run;
  };
  std::vector<Line> lines;                                    ///< what things were; oldest first
  std::map<std::pair<std::string, Thing>, std::string> made;  ///< run, thing -> what the run made of it
  std::map<std::string, std::string> readers;                 ///< file -> the unit that reads it
  std::map<Thing, std::string> now;
  std::set<std::string> blobs;
  std::vector<std::string> unreadable;  ///< lines that are cut off or damaged
};
/// Fault::parse where the text is cut off.
[[nodiscard]] Result<Journal> read_journal(std::string_view text);

/// Which runs: the last one that changed something, where nothing is said.
struct Undo {
  std::string run;
  bool all = false;
  bool force = false;  ///< what somebody else has changed since is put back, too
  /// The steps of playbooks/reset.yaml run before: a cluster is no reason to stop, and where no run is named
  /// all runs are taken back down to the first that worked on it.
  bool after_reset = false;
  /// Kinds of things, and steps (or the beginning of their ids up to a dot), that stay as they are, and in
  /// the journal.
  std::vector<std::string> keep = {};
};

/// What cannot be put back, and why.
struct Kept {
  Thing thing;
  std::string why;
};

/// One host's way back.
struct UndoPlan {
  std::vector<std::string> runs;  ///< newest first; empty: there is nothing to undo
  std::vector<std::pair<std::string, std::vector<Action>>> stages;  ///< phase -> actions
  std::vector<Kept> kept;
  std::vector<std::string> unreadable;  ///< of the journal: what they are about is not restored
};

/// Fault::blocked, before anything is changed, where something that stands on the runs cannot be undone: a
/// cluster, a newer run, an original that is lost. Fault::usage for a run that is none of the host's.
[[nodiscard]] Result<UndoPlan> undo_plan(const Journal& journal, const Undo& undo);

/// Whether gpuadm began a cluster on the host, and kubeadm init or join did not finish. Undo takes it back,
/// after the steps of playbooks/reset.yaml.
[[nodiscard]] bool has_unfinished_cluster(const Journal& journal);

/// Whether the host is a node, whoever made it one.
[[nodiscard]] bool has_cluster(const Journal& journal);

/// Fault::blocked where a cluster is on the host and in no run of its journal, unless forced.
[[nodiscard]] Result<> may_reset(const Journal& journal, bool force);

/// Phases of an undo in their order, with titles.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> undo_phases();

/// The plan for hosts by name; those with nothing to do are left out. `prelude`: prelude.sh and undo.sh.
[[nodiscard]] Plan to_plan(const std::map<std::string, UndoPlan>& hosts, std::string prelude);

}  // namespace plan
