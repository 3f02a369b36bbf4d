#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/spec/decisions.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <set>

namespace session {

/// A command that works on the hosts of a cluster: its run directory, with the cluster file, and a fleet of
/// all hosts, which is read-only for a preview.
struct Session {
  RunFolder folder;
  std::unique_ptr<Connections> connections;
  std::unique_ptr<transport::Fleet> fleet;
  /// `cluster` and `io` must outlive the session.
  [[nodiscard]] static Result<Session> open(const spec::Cluster& cluster, const Connection& connection,
                                            Consent consent, Io& io);
  /// The facts of every host, saved in the directory; an error if one is unreachable, of those that are
  /// `needed`; empty: all.
  [[nodiscard]] Result<Survey> survey_all(
      const assets::Store& assets, const std::function<bool(const std::string& host)>& needed = {}) const;
};

/// The complete cluster to which the hosts of a run already belong. A change of its pod network is confirmed
/// separately: pods may lose connections.
struct RunningCluster {
  std::string name;                ///< empty: there is none
  bool by_gpuadm = true;           ///< gpuadm has installed its pod network
  Consent network = Consent::ask;  ///< to a change of its pod network; Consent::given: --change-network
};

/// Inputs for running a playbook.
struct PlaybookRun {
  const spec::Cluster& cluster;
  const assets::Store& assets;
  const playbook::Library& library;
  const bundle::Bundle* bundle = nullptr;
  plan::Choice choice;
  Consent consent = Consent::ask;
  Outcome needed = Outcome::done;  ///< as Execution::needed
  Rebooting reboots = Rebooting::done;
  run::Judge judge;
  Waiting waiting = Waiting::until_it_works;
  std::vector<std::string> notes;  ///< shown before the preview
  spec::Decisions decisions;
  RunningCluster running;
};

/// Phases that wait for or test the cluster: --no-wait skips them.
[[nodiscard]] std::vector<std::string> waiting_phases(const playbook::Playbook& playbook);

/// Hosts without facts when a plan is rendered again: those that were lost before, which need none, and those
/// that could not be read now, with the reason.
struct Unread {
  std::set<std::string> lost;
  std::map<std::string, base::Error> now;
};

/// A complete plan.
struct Execution {
  const assets::Store& assets;
  plan::Plan plan;
  std::vector<std::string> hosts;
  Consent consent = Consent::ask;
  /// Renders the same plan from current facts: after the hosts are locked, and after a stage with `refresh`.
  /// Empty: the plan does not depend on facts.
  std::function<Result<plan::Plan>(Unread& unread)> again;
  Outcome needed = Outcome::done;  ///< the outcome of a preview with changes
  Rebooting reboots = Rebooting::done;
  run::Judge judge;
  /// Hosts to check for the cause if a step of kubeadm or a wait fails; nullptr: none.
  const spec::Cluster* cluster = nullptr;
  spec::Decisions decisions;  ///< for these checks
  RunningCluster running;
};

/// Events of the whole run.
void notify(report::Reporter& reporter, report::Did did, const std::string& text);

/// Preview with diffs, confirmation, locks, stages, unlock. Reports everything to `reporter` and saves it in
/// the session's directory.
[[nodiscard]] Result<Outcome> execute(const Execution& execution, const Session& session,
                                      report::Reporter& reporter, Io& io);

/// The same from facts: renders the plan, and renders it again if a stage requests fresh facts.
[[nodiscard]] Result<Outcome> run_playbook(const PlaybookRun& playbook_run, const Survey& survey,
                                           const Session& session, report::Reporter& reporter, Io& io);

/// Calls the action with a reporter that sends events to the terminal (or only to the files, for
/// Format::json) and to events.jsonl, then prints and saves the summary.
[[nodiscard]] Result<Outcome> with_reporter(const RunFolder& folder, Format format, Io& io,
                                            const std::function<Result<Outcome>(report::Reporter&)>& act);

[[nodiscard]] Result<Outcome> run_and_report(const PlaybookRun& playbook_run, const Survey& survey,
                                             const Session& session, Format format, Io& io);

}  // namespace session
