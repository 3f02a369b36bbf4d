#pragma once

#include "gpuadm/run/run.hpp"

#include "run/distribution.hpp"
#include "run/program.hpp"
#include "run/reboot.hpp"

#include <deque>

namespace run {

/// One host on its way through a stage.
struct Walker {
  const plan::Walk* walk = nullptr;
  std::size_t next = 0;
  enum class Doing {
    nothing,
    step,
    upload_check,
    receive,  ///< a file, from the client
    pull,     ///< a file, from another host
    offer,    ///< prepares to pass a file on
    upload,
    heartbeat,
    reboot
  } doing = Doing::nothing;
  plan::Action action;           ///< with the saved variables filled in
  std::uint64_t size = 0;        ///< of the file that is on its way
  Held held;                     ///< of it
  bool parked = false;           ///< until it is known who sends it
  bool from_depot = false;       ///< the upload's file is in the host's depot
  base::Instant since;           ///< when it began to come, or a wait began
  std::optional<Reboot> reboot;  ///< while it is on
  bool rebooted = false;         ///< for this step
};

/// Takes hosts through a plan, stage by stage. What a step comes to is in executor.cpp; how files reach hosts
/// in executor_files.cpp; how hosts come through a reboot in executor_reboots.cpp; waits in
/// executor_waits.cpp.
class Executor {
 public:
  Executor(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter, const Identity& who,
           Outcome so_far, Reboots reboots, const Judge& judge)
      : plan_(plan),
        fleet_(fleet),
        reporter_(reporter),
        who_(who),
        reboots_(reboots),
        judge_(judge),
        outcome_(std::move(so_far)) {
    outcome_.refresh = false;
    for (const plan::Stage& stage : plan.stages)
      for (const plan::Walk& walk : stage.walks) hosts_.insert(walk.host);
  }

  /// All stages that are left, or until a stage asks for a look at the hosts.
  Outcome run();

 private:
  /// A host that failed takes no further step, but for one where steps do not build on each other.
  [[nodiscard]] bool is_out(const std::string& host) const;
  [[nodiscard]] bool goes_on() const;
  void walk_stage(const plan::Stage& stage);
  /// Lets hosts into the stage: all, or as many as may be in it at once. None where one that went before has
  /// failed: what is done to one host after the other is not done to the rest of them then.
  void admit();
  void pass_by(const std::string& host);
  /// The host is through, or out.
  void leave(const std::string& host);
  /// Starts the host's next step, if there is one.
  void advance(const std::string& host);
  /// What the host's own steps have saved, else what another's have shared.
  [[nodiscard]] const std::string& saved(const std::string& host, const std::string& name);
  void submit(const std::string& host, std::string script, transport::Effect effect);
  /// One round of the host's wait.
  void submit_wait(const std::string& host);
  /// A round has ended: what the wait has seen is reported, and the next round begins.
  void still_waits(const std::string& host, const transport::Exit& exit);
  void completed(transport::Completion& completion);
  /// The connection is gone, or nobody answered.
  void went_away(const std::string& host, const base::Error& error);
  /// A step that failed keeps none of the others from running, where they do not build on each other.
  void pass_over(const std::string& host);
  static void to_next(Walker& walker);
  /// The step holds on the host; whether it has failed all the same says its judge.
  void finish_step(const std::string& host, const transport::Exit& exit, report::Did did);
  static std::string why(const Walker& walker, const transport::Exit& exit);
  /// Of a wait: all of its rounds.
  static double seconds_of(const Walker& walker, const transport::Exit& exit);
  void failed(const std::string& host, const plan::Action& action, const std::string& what,
              const std::string& hint, double seconds);
  void renew_idle_locks();
  [[nodiscard]] report::Event event(const std::string& host, const std::string& step, report::Did did,
                                    const std::string& detail) const;

  // Files
  [[nodiscard]] static bool on_its_way(const Walker& walker);
  /// Of a file that goes by way of the depot; 0: it does not.
  [[nodiscard]] std::uint64_t size_of(const plan::Action& action) const;
  [[nodiscard]] static const std::string& digest_of(const Walker& walker);
  /// Whether other hosts of the stage may want the file of this host's upload, too.
  [[nodiscard]] Passing passing(const Walker& walker) const;
  /// The file on its way to the host: from the client, from a host that has it, or later.
  void bring(const std::string& host);
  /// The file is in the host's depot.
  void install(const std::string& host);
  void arrived(const std::string& host);
  /// The host waits until it is known who can send it the file.
  void park(const std::string& host);
  /// What an answer about a file comes to. False: it is one as of any step.
  bool file_answered(const std::string& host, const transport::Exit& exit);
  /// Those that waited for a file ask again who can send it; who has most of it is first.
  void wake_parked();
  /// Whether other hosts are just looking what they have of the file, or preparing to pass it on.
  [[nodiscard]] bool others_look(const Walker& walker) const;
  void report_progress();
  /// What arrived in this stage is in its place; a host that failed keeps it, so that the next run goes on
  /// from there.
  void clear_depots();

  // Reboots
  void needs_reboot(const std::string& host, const transport::Exit& exit);
  [[nodiscard]] bool somebody_reboots() const;
  [[nodiscard]] base::Instant next_reboot() const;
  /// Of the hosts that the others need, one at a time is away: etcd keeps its majority.
  [[nodiscard]] bool may_go(const std::string& host) const;
  void go_on_rebooting();
  void rebooting(const transport::Completion& completion, Walker& walker);
  void give_up(const std::string& host, const base::Error& error);

  const plan::Plan& plan_;
  transport::Fleet& fleet_;
  report::Reporter& reporter_;
  const Identity& who_;
  const Reboots reboots_;
  const Judge& judge_;
  const plan::Stage* stage_ = nullptr;
  std::map<std::string, Walker> walkers_;
  std::deque<std::string> waiting_;  ///< hosts that the stage has not let in yet
  bool failed_here_ = false;         ///< in this stage
  bool came_back_ = false;           ///< in this stage, from a reboot: the host is not what it was seen to be
  std::set<std::string> hosts_;
  Distribution distribution_;
  std::set<std::string> depots_;         ///< hosts with files on their way
  std::uint64_t sent_ = 0, passed_ = 0;  ///< bytes, from the client and between hosts
  Outcome outcome_;
};

}  // namespace run
