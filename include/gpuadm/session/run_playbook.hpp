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
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <set>

namespace session {

/// A verb that acts on the hosts of a cluster: its run folder, with the cluster file in it, and a fleet of
/// all hosts, which only reads where the run is a preview.
struct Session {
  RunFolder folder;
  std::unique_ptr<Connections> connections;
  std::unique_ptr<transport::Fleet> fleet;
  /// `cluster` and `io` must outlive the session.
  [[nodiscard]] static Result<Session> open(const spec::Cluster& cluster, const Connection& connection,
                                            Consent consent, Io& io);
  /// The facts of every host, saved in the folder; an error where one cannot be reached.
  [[nodiscard]] Result<Survey> survey_all(const assets::Store& assets) const;
};

/// What a playbook is conducted with.
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
};

/// The phases that wait until the cluster works, and those that test it: what --no-wait leaves out.
[[nodiscard]] std::vector<std::string> waiting_phases(const playbook::Playbook& playbook);

/// A plan that is ready.
struct Execution {
  const assets::Store& assets;
  plan::Plan plan;
  std::vector<std::string> hosts;
  Consent consent = Consent::ask;
  /// The same plan from facts of now: once the hosts are locked, and where a stage refreshes. A host that was
  /// lost needs no facts. Empty: what is planned depends on no facts.
  std::function<Result<plan::Plan>(const std::set<std::string>& lost)> again;
  Outcome needed = Outcome::done;  ///< what a preview comes to where something is to be done
  Rebooting reboots = Rebooting::done;
  run::Judge judge;
  /// Whose hosts are asked for the reason where a step of kubeadm or a wait fails; nullptr: none are.
  const spec::Cluster* cluster = nullptr;
};

/// Of the whole run, and of no host.
void notify(report::Reporter& reporter, report::Did did, const std::string& text);

/// Preview with diffs, the question, locks, stages, unlock. Everything is told to `reporter` and saved in
/// the session's folder.
[[nodiscard]] Result<Outcome> execute(const Execution& execution, const Session& session,
                                      report::Reporter& reporter, Io& io);

/// The same from facts: makes the plan, and makes it again where a stage asks for fresh facts.
[[nodiscard]] Result<Outcome> run_playbook(const PlaybookRun& playbook_run, const Survey& survey,
                                           const Session& session, report::Reporter& reporter, Io& io);

/// Acts with a reporter that sends events to the terminal (or nowhere but the files, for Format::json) and to
/// events.jsonl, then prints and saves the folded report.
[[nodiscard]] Result<Outcome> with_reporter(const RunFolder& folder, Format format, Io& io,
                                            const std::function<Result<Outcome>(report::Reporter&)>& act);

[[nodiscard]] Result<Outcome> run_and_report(const PlaybookRun& playbook_run, const Survey& survey,
                                             const Session& session, Format format, Io& io);

}  // namespace session
