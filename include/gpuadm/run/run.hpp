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

/// Executes a plan on hosts, check -> apply -> check, writes each host's journal, holds its lock, and reports
/// the results.
namespace run {

using base::Result;

enum class Mode {
  preview,  ///< all checks of a host in one program, Effect::reads only; changes nothing
  apply     ///< step by step, each checked again before it is applied
};

/// Handling of a step that requires a reboot of its host.
enum class Reboots {
  done,  ///< the run reboots the host, waits for it, and continues
  left   ///< the step fails with the command to type
};
/// Time limit for a reboot: servers with many GPUs take up to a quarter of an hour to start.
inline constexpr std::chrono::seconds reboot_timeout{1200};

/// Identity of a run: written into the hosts' locks and journals.
struct Identity {
  std::string run;     ///< start, process and 64 random bits: 20260822T100000Z-4711-9f86d081884c7d65
  std::string owner;   ///< "me@laptop pid 4711 start 812345/pid:[4026531836]"
  std::string client;  ///< machine-id of this machine
  /// Its boot id, which clones of the machine do not have, and containers on it do. Empty: unknown.
  std::string boot;
  long pid = 0;
  std::string started;  ///< start time of the process and the namespace of its pid, so that a reused pid or
                        ///< one of another container is not mistaken for this run
  /// A shell program that continues this run at the next boot of this machine, and the user that runs gpuadm
  /// in it. Empty: none.
  std::string resume, resume_user;
};
/// A new identity. Fault::bug if the kernel has no random numbers.
[[nodiscard]] Result<Identity> identity();

struct Outcome {
  int needed = 0;  ///< preview
  int satisfied = 0;
  int changed = 0;
  std::set<std::string> failed;  ///< hosts where a step failed
  std::set<std::string> lost;    ///< of these, whose connection or lock was lost, or that are unreachable
  std::string own_host;          ///< this machine, if it must be rebooted: the run continues at its next boot
  bool interrupted = false;
  std::size_t next_stage = 0;                    ///< the stage to continue with; == stages.size(): done
  bool refresh = false;                          ///< stopped because the facts must be read again
  std::map<std::string, base::Variables> saved;  ///< by host; under "": shared
};

/// Judges the output of a step with `judge`, by the judge's name, host and output. An error fails the step,
/// with its text and hint.
using Judge = std::function<std::optional<base::Error>(const std::string& judge, const std::string& host,
                                                       const std::string& output)>;

/// Runs the stages, from where `so_far` stopped. If a host fails, the others continue; the run stops after a
/// stage in which one of Plan::vital failed. In Mode::apply every host must be locked (see lock()). Only one
/// control-plane node is rebooted at a time.
[[nodiscard]] Outcome execute(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter,
                              Mode mode, const Identity& who, Outcome so_far = {},
                              Reboots reboots = Reboots::done, const Judge& judge = {});

/// The shell programs of the lock, from the assets.
struct Scripts {
  std::string prelude, lock;  ///< playbooks/prelude.sh, playbooks/lock.sh
};

/// Locks all hosts or none: Fault::blocked contains the owner and what to do, or the two names of one
/// machine. A lock whose owner has died is taken over with a message; waits up to 600 s for a command that an
/// earlier run left running.
[[nodiscard]] Result<> lock(const std::vector<std::string>& hosts, transport::Fleet& fleet,
                            report::Reporter& reporter, const Scripts& scripts, const Identity& who);
/// Renews our locks while the fleet waits, also on hosts whose command is queued: a lock expires 90 s after
/// its last heartbeat if no program of the run is on the host (playbooks/lock.sh). Ends with the object.
/// `hosts`: called each time.
class KeepLocks {
 public:
  KeepLocks(std::function<std::vector<std::string>()> hosts, transport::Fleet& fleet,
            const std::string& prelude, const Identity& who);
  KeepLocks(const KeepLocks&) = delete;
  KeepLocks& operator=(const KeepLocks&) = delete;
  ~KeepLocks();

 private:
  transport::Fleet& fleet_;
};
/// Releases our locks. Best effort: the lock on an unreachable host expires by itself.
void unlock(const std::vector<std::string>& hosts, transport::Fleet& fleet, report::Reporter& reporter,
            const Scripts& scripts, const Identity& who);

}  // namespace run
