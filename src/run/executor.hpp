#pragma once

#include "gpuadm/kube/unready.hpp"
#include "gpuadm/run/run.hpp"

#include "run/distribution.hpp"
#include "run/program.hpp"
#include "run/reboot.hpp"

#include <deque>

namespace run {

/// State of one host in a stage.
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
    together,  ///< installs several files
    reboot
  } doing = Doing::nothing;
  plan::Action action;                 ///< with the saved variables filled in
  std::uint64_t size = 0;              ///< of the file in transfer
  Held held;                           ///< part of it on the host
  bool parked = false;                 ///< until its source is known
  bool from_depot = false;             ///< the upload's file is in the host's depot
  std::vector<plan::Action> received;  ///< uploads whose files are in the depot, to be installed together
  std::uint64_t received_bytes = 0;    ///< the size of these files
  std::string nonce;                   ///< of the program that installs them
  base::Instant since;                 ///< start of the transfer or the wait
  kube::WaitMemory memory;             ///< of the wait
  std::optional<Reboot> reboot;        ///< while it is rebooting
  bool rebooted = false;               ///< for this step
};

/// Executes a plan on hosts, stage by stage. Results of steps are in executor.cpp; file transfers in
/// executor_files.cpp; reboots in executor_reboots.cpp; waits in executor_waits.cpp.
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

  /// Runs the remaining stages, or until a stage requests fresh facts.
  Outcome run();

 private:
  /// A failed host executes no further step, except if the plan's steps are independent.
  [[nodiscard]] bool is_out(const std::string& host) const;
  [[nodiscard]] bool continues() const;
  void walk_stage(const plan::Stage& stage);
  /// Starts hosts in the stage: all, or up to its limit. None if an earlier one has failed: a sequential
  /// stage stops at the first failure.
  void admit();
  void skip_host(const std::string& host);
  /// The host has completed the stage or failed.
  void leave(const std::string& host);
  /// Starts the host's next step, if there is one.
  void advance(const std::string& host);
  /// The value saved by the host's own steps, otherwise the shared one.
  [[nodiscard]] const std::string& saved(const std::string& host, const std::string& name);
  void submit(const std::string& host, std::string script, transport::Effect effect);
  /// Starts one round of the host's wait.
  void submit_wait(const std::string& host);
  /// A round has ended: reports its result, and starts the next round.
  void still_waits(const std::string& host, const transport::Exit& exit);
  void completed(transport::Completion& completion);
  /// The connection was lost, or nothing answered.
  void lose_host(const std::string& host, const base::Error& error);
  /// A failed step does not stop the others if the steps are independent.
  void pass_over(const std::string& host);
  static void to_next(Walker& walker);
  /// The step is satisfied on the host; its judge may still fail it.
  void finish_step(const std::string& host, const transport::Exit& exit, report::Did did);
  void report_done(const std::string& host, const plan::Action& action, const transport::Exit& exit,
                   report::Did did, double seconds);
  static std::string why(const Walker& walker, const transport::Exit& exit);
  /// Of a wait: what its check printed, with its pods as sentences.
  static kube::WaitOutput output_of(const transport::Exit& exit, kube::WaitMemory& memory);
  /// Of a wait: all its rounds.
  static double seconds_of(const Walker& walker, const transport::Exit& exit);
  void failed(const std::string& host, const plan::Action& action, const std::string& what,
              const std::string& hint, double seconds);
  /// Those that are not being rebooted.
  [[nodiscard]] std::vector<std::string> hosts_with_locks() const;
  [[nodiscard]] report::Event event(const std::string& host, const std::string& step, report::Did did,
                                    const std::string& detail) const;

  // Files
  [[nodiscard]] static bool on_its_way(const Walker& walker);
  /// Size of a file that uses the depot; 0: it does not.
  [[nodiscard]] std::uint64_t size_of(const plan::Action& action) const;
  [[nodiscard]] static const std::string& digest_of(const Walker& walker);
  /// Whether other hosts of the stage may need this host's file, too.
  [[nodiscard]] Passing passing(const plan::Action& action) const;
  /// Starts the transfer of the file to the host: from the client, from another host, or later.
  void transfer(const std::string& host);
  /// The file is in the host's depot.
  void install(const std::string& host);
  /// Whether the received files are to be installed before the next step.
  [[nodiscard]] static bool has_received_all(const Walker& walker);
  void install_received(const std::string& host);
  /// The program that installs the received files has ended.
  void installed_received(const std::string& host, const transport::Exit& exit);
  void arrived(const std::string& host);
  /// The host waits until a source of the file is known.
  void park(const std::string& host);
  /// Evaluates an answer about a file. False: it is an ordinary one.
  bool file_answered(const std::string& host, const transport::Exit& exit);
  /// Hosts that waited for a file look for a source again; the one with the largest part is first.
  void wake_parked();
  /// Whether other hosts are still reporting their part of the file, or preparing to pass it on.
  [[nodiscard]] bool others_report(const Walker& walker) const;
  /// A host starts (1) or has ended (-1) a program with such a report.
  void count_report(const Walker& walker, int change);
  /// Counts for each file the hosts of the stage that want it.
  void count_wanted();
  void report_progress();
  /// Clears the depots after the stage; a failed host keeps its files, so that the next run continues from
  /// there.
  void clear_depots();

  // Reboots
  void needs_reboot(const std::string& host, const transport::Exit& exit);
  [[nodiscard]] bool any_reboots() const;
  [[nodiscard]] base::Instant next_reboot() const;
  /// Of the hosts in Plan::vital, only one reboots at a time: etcd keeps its majority.
  [[nodiscard]] bool may_go(const std::string& host) const;
  void continue_reboots();
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
  std::deque<std::string> waiting_;  ///< hosts that have not started the stage
  bool failed_here_ = false;         ///< in this stage
  bool came_back_ = false;           ///< in this stage, from a reboot: its facts may have changed
  std::set<std::string> hosts_;
  Distribution distribution_;
  std::map<std::string, int> wanted_;    ///< by digest: hosts of the stage
  std::map<std::string, int> reports_;   ///< by digest: hosts that are reporting their part of the file
  std::set<std::string> depots_;         ///< hosts with files in transfer
  std::uint64_t sent_ = 0, passed_ = 0;  ///< bytes, from the client and between hosts
  Outcome outcome_;
};

}  // namespace run
