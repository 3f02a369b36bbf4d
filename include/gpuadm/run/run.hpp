#pragma once

#include "gpuadm/plan/plan.hpp"
#include "gpuadm/report/event.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// Walks hosts through a plan, check -> apply -> check, keeps each host's journal and lock, and says what
/// happened.
namespace run {

using base::Result;

enum class Mode {
  preview,  ///< every check of a host in one program, Effect::reads only; nothing is changed
  apply     ///< step by step, each looked at again before it acts
};

/// What becomes of a step that holds only after a reboot of its host.
enum class Reboots {
  done,  ///< the run reboots it, waits for it, and goes on
  left   ///< the step fails, and says what to type
};
/// How long a host may be away: servers with many GPUs take a quarter of an hour to start.
inline constexpr std::chrono::seconds reboot_patience{1200};

/// Who runs: written into the hosts' locks and journals.
struct Identity {
  std::string run;     ///< unique, for example 20260822T100000Z-4711
  std::string owner;   ///< "me@laptop pid 4711 start 812345"
  std::string client;  ///< machine-id of this machine
  long pid = 0;
  std::string started;  ///< start time of the process, so that a pid used again is not taken for this run
  /// A shell program that goes on with this run's work at the next boot of this machine, and as whom it runs
  /// gpuadm. Empty: there is none.
  std::string resume, resume_user;
};
[[nodiscard]] Identity identity();

struct Outcome {
  int needed = 0;  ///< preview
  int satisfied = 0;
  int changed = 0;
  std::set<std::string> failed;  ///< hosts where a step failed
  std::set<std::string> lost;    ///< of these, whose connection or lock is gone
  std::string own_host;          ///< must be rebooted and is this machine: it goes on at its next boot
  bool interrupted = false;
  std::size_t next_stage = 0;                    ///< the stage to go on with; == stages.size(): done
  bool refresh = false;                          ///< stopped because the facts have to be read again
  std::map<std::string, base::Variables> saved;  ///< by host; under "" what was shared
};

/// Judges what a step with `judge` has printed: by that name, the host and the output. An error: the step has
/// failed, with its text and hint.
using Judge = std::function<std::optional<base::Error>(const std::string& judge, const std::string& host,
                                                       const std::string& output)>;

/// Runs the stages, from where `so_far` stopped. A host that fails leaves, and the others go on; the run
/// stops after a stage in which one of Plan::vital failed. In Mode::apply every host must be locked (see
/// lock()). Of control planes only one is rebooted at a time.
[[nodiscard]] Outcome execute(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter,
                              Mode mode, const Identity& who, Outcome so_far = {},
                              Reboots reboots = Reboots::done, const Judge& judge = {});

/// The shell programs of the lock, from the assets.
struct Scripts {
  std::string prelude, lock;  ///< playbooks/prelude.sh, playbooks/lock.sh
};

/// Takes the lock of every host, or of none: Fault::blocked names the owner and what to do. A lock whose
/// owner is dead is taken over, saying so; a command that an earlier run left running is waited for (600 s).
[[nodiscard]] Result<> lock(const std::vector<std::string>& hosts, transport::Fleet& fleet,
                            report::Reporter& reporter, const Scripts& scripts, const Identity& who);
/// Frees the locks that are ours. Best effort: a host that is gone keeps a lock that expires by itself.
void unlock(const std::vector<std::string>& hosts, transport::Fleet& fleet, report::Reporter& reporter,
            const Scripts& scripts, const Identity& who);

}  // namespace run
