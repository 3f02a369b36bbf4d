#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <vector>

/// Events and findings as values, and their presentation.
namespace report {

/// Result of a step on a host.
enum class Did {
  started,    ///< of a run, stage or step: `detail` is its title
  satisfied,  ///< nothing to do; `detail` is its title, as in the next two
  needed,     ///< preview: apply would run
  applied,    ///< applied, and the check is satisfied
  waiting,    ///< a wait continues; `detail` says for what
  skipped,    ///< with the reason in `detail`
  failed,     ///< with the reason in `detail` and what to type in `hint`
  cause,      ///< why a step failed, found on the hosts: `detail`; `output` is the evidence
  note,       ///< other information
  finished    ///< of a run
};

struct Event {
  base::Time at = base::now();
  std::string host;   ///< empty: the run itself
  std::string stage;  ///< phase, for example "runtime/config"
  std::string step;   ///< step id, for example "runtime.containerd.config"
  Did did = Did::note;
  std::string detail;
  std::string hint;
  std::string diff;    ///< of a file: unified diff from the current to the new content
  std::string output;  ///< output of a step that changed something, printable and bounded; for events.jsonl
  double seconds = 0;  ///< duration of the step
  std::size_t phase = 0,
              phases = 0;  ///< number of a starting phase, and of how many; for people only
  std::string program;     ///< shell text of a step, without its values; for people only
};

[[nodiscard]] std::string_view name_of(Did did);
[[nodiscard]] base::Tree to_tree(const Event& event);

/// Receives events as they happen. A reporter cannot affect a run.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void on(const Event& event) = 0;
  /// Called every second while hosts are busy, for displays of the elapsed time.
  virtual void tick(base::Time /*now*/) {}
};

}  // namespace report
