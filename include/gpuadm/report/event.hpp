#pragma once

#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <vector>

/// What happened and what was found, as values, and the ways to show them.
namespace report {

/// What a step did on a host.
enum class Did {
  started,    ///< of a run, stage or step: `detail` is its title
  satisfied,  ///< check says nothing to do; `detail` is its title, as in the next two
  needed,     ///< preview: apply would run
  applied,    ///< applied, and the check then says satisfied
  waiting,    ///< a wait goes on; `detail` says for what
  skipped,    ///< left out; `detail` says why
  failed,     ///< `detail` says why, `hint` what to type
  cause,      ///< why a step failed, as the hosts say: `detail`; `output` is the evidence
  note,       ///< something worth a line
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
  std::string diff;    ///< of a file: unified diff from what is to what shall be
  std::string output;  ///< what a step that changed something said, printable and bounded; for events.jsonl
  double seconds = 0;  ///< what the step took
  std::size_t phase = 0,
              phases = 0;  ///< of a phase that starts: its number, and of how many; for people only
  std::string program;  ///< of a step: its shell text, without the values that it is given; for people only
};

[[nodiscard]] std::string_view name_of(Did did);
[[nodiscard]] base::Tree to_tree(const Event& event);

/// Something that is told what happens, as it happens. A reporter cannot steer a run.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void on(const Event& event) = 0;
  /// Called every second while hosts work, so that a display can show the elapsed time.
  virtual void tick(base::Time /*now*/) {}
};

}  // namespace report
