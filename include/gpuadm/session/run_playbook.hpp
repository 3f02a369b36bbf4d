#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/plan/plan.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/report/reporters.hpp"
#include "gpuadm/run/run.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/options.hpp"
#include "gpuadm/session/run_folder.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/decisions.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

/// Resolves the Kubernetes version to install: a minor version becomes its newest available patch release.
namespace session {

using base::Result;

/// Asks the person at the terminal. Fault::usage without one, with the options that answer.
[[nodiscard]] Result<bool> confirmed(const std::string& question, const Io& io);

/// Decides the driver of each host with GPUs, if one is to be installed. Fault::usage if no single driver
/// supports all its GPUs.
[[nodiscard]] base::Result<> decide_drivers(const spec::Cluster& cluster, const facts::Census& census,
                                            const assets::Store& assets, spec::Decisions& decisions);

/// Whether the bundle has the images of the network plugin, if the run creates a cluster and installs its pod
/// network: Fault::blocked with the missing ones, before anything is changed. `bundle`: nullptr:
/// repositories.
[[nodiscard]] base::Result<> require_network_images(const spec::Cluster& cluster,
                                                    const playbook::Catalog& catalog,
                                                    const base::Version& kubernetes,
                                                    const bundle::Bundle* bundle, const plan::Choice& choice);

/// Decides what the checks need to predict the run: Decisions::without_dns, and for every host the source of
/// programs that it lacks. `bundle` may be null: repositories.
void decide_supplies(const spec::Cluster& cluster, const facts::Census& census, const bundle::Bundle* bundle,
                     const plan::Choice& choice, spec::Decisions& decisions);

/// Opens the directory or archive of --bundle: its signature is verified if there are trusted signers
/// (signers_files()), otherwise a warning is printed; unpacked, with every file verified and images
/// assembled, below ~/.cache/gpuadm/bundles. Bundles there that were not used for two weeks are removed.
[[nodiscard]] bundle::Result<bundle::Bundle> open_verified(const std::filesystem::path& place,
                                                           const std::filesystem::path& signers,
                                                           const Io& io);

/// Fault::blocked if a host's architecture differs from the bundle's.
[[nodiscard]] bundle::Result<> is_for_hosts(const bundle::Bundle& bundle, const spec::Cluster& cluster,
                                            const facts::Census& census);

/// A command that works on the hosts of a cluster: its run directory, with the cluster file, and a fleet of
/// all hosts, which is read-only for a preview.
struct RunContext {
  RunFolder folder;
  std::unique_ptr<Connections> connections;
  std::unique_ptr<transport::Fleet> fleet;
  /// `cluster` and `io` must outlive the session.
  [[nodiscard]] static Result<RunContext> open(const spec::Cluster& cluster, const Connection& connection,
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

/// What the needed steps of a plan do.
struct NeededEffects {
  std::set<std::string> phases, hosts, packages;
  std::set<std::string> restarts;  ///< "docker.service"
  std::set<std::string> reboots;   ///< "gpu1 (the driver is installed)": only if required
};

/// What a run means for the operator, in one sentence: shown just above the question. Empty: nothing is
/// shown.
using Consequence = std::function<std::string(const NeededEffects& needed)>;

/// What a run changes in the cluster after its steps: compares, reports what is needed, and returns how many
/// changes there are. The preview and the question include them; who runs the playbook makes them.
using MoreChanges = std::function<Result<int>(report::Reporter& reporter)>;

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
  Consequence consequence = {};
  MoreChanges more = {};  ///< empty: none
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
  Consequence consequence = {};
  MoreChanges more = {};  ///< empty: none
};

/// Events of the whole run.
void notify(report::Reporter& reporter, report::Did did, const std::string& text);

/// Preview with diffs, confirmation, locks, stages, unlock. Reports everything to `reporter` and saves it in
/// the session's directory.
[[nodiscard]] Result<Outcome> execute(const Execution& execution, const RunContext& session,
                                      report::Reporter& reporter, Io& io);

/// The same from facts: renders the plan, and renders it again if a stage requests fresh facts.
[[nodiscard]] Result<Outcome> run_playbook(const PlaybookRun& playbook_run, const Survey& survey,
                                           const RunContext& session, report::Reporter& reporter, Io& io);

/// Calls the action with a reporter that sends events to the terminal (or only to the files, for
/// Format::json) and to events.jsonl, then prints and saves the summary.
[[nodiscard]] Result<Outcome> with_reporter(const RunFolder& folder, Format format, Io& io,
                                            const std::function<Result<Outcome>(report::Reporter&)>& act);

[[nodiscard]] Result<Outcome> run_and_report(const PlaybookRun& playbook_run, const Survey& survey,
                                             const RunContext& session, Format format, Io& io);

/// Context of a command that works on control-plane nodes, after the facts were read.
struct ControlPlaneContext {
  const assets::Store& assets;
  const playbook::Library& library;
  const spec::Cluster& cluster;  ///< with the hosts' actual roles and the installed version
  const Survey& survey;
  const RunContext& session;
  const std::vector<std::string>& hosts;  ///< the control-plane nodes, in the cluster's order; at least one
  const std::vector<spec::Host>& lost;    ///< the hosts of ControlPlaneRequest::lost
};

/// Whether workers of a cluster file that cannot be reached end the command, or are left out.
enum class AbsentWorkers { refused, left_out };

struct ControlPlaneRequest {
  const Common& common;
  const Hosts& hosts;
  Consent consent = Consent::ask;
  AbsentWorkers absent_workers = AbsentWorkers::refused;
  std::vector<std::string> lost = {};  ///< hosts that are left out because they are lost
};

/// The hosts of `lost`, which must not answer, because a control-plane node that runs is not lost:
/// Fault::blocked.
[[nodiscard]] Result<> are_lost(const std::vector<spec::Host>& lost, const facts::Census& census);

/// Reads the cluster and playbooks/NAME.yaml, surveys all hosts, finds the control-plane nodes, and calls the
/// action. Fault::usage if there are none; an error if a host is unreachable,
/// except for those that are left out.
[[nodiscard]] Result<Outcome> on_control_planes(
    const ControlPlaneRequest& asked, std::string_view playbook, Io& io,
    const std::function<Result<Outcome>(const ControlPlaneContext&)>& act);

/// The output of a read-only function of the playbook on a host. Fault::remote if its status is not 0.
[[nodiscard]] Result<std::string> call(const ControlPlaneContext& context, const std::string& host,
                                       const std::string& label, const std::string& function,
                                       const std::vector<std::string>& words = {});

/// The options of a playbook run on control-plane nodes.
struct OneByOne {
  std::vector<std::string> hosts;
  plan::Choice choice;
  Consent consent = Consent::ask;
  const bundle::Bundle* bundle = nullptr;
};

/// Runs the playbook on these hosts, one after the other: a host starts when the previous one has succeeded.
/// All are locked together and inspected again after that, as in `execute`.
[[nodiscard]] Result<Outcome> run_one_by_one(const ControlPlaneContext& context, const OneByOne& how,
                                             report::Reporter& reporter, Io& io);

/// The same on all of these hosts in parallel, phase by phase: a phase starts when all hosts have succeeded
/// in the previous one.
[[nodiscard]] Result<Outcome> run_together(const ControlPlaneContext& context, const OneByOne& how,
                                           report::Reporter& reporter, Io& io);

/// Parses the output of playbooks/versions.sh: patches of this minor in ascending order.
[[nodiscard]] std::vector<base::Version> read_offers(std::string_view text, const base::Version& minor);

/// Patches in the package repository, by host.
using Offers = std::map<std::string, std::vector<base::Version>>;
/// The version that all hosts install: `version`, or if it is assumed, the newest patch that is available to
/// all hosts. Fault::blocked if it is not available to a host, with the available ones.
[[nodiscard]] Result<base::Version> choose_offered(const playbook::ChosenVersion& version,
                                                   const Offers& offers, const std::string& repository);

/// Inputs for resolving a version, after the hosts were read.
struct VersionSources {
  const spec::Cluster& cluster;
  const spec::Decisions& decisions;  ///< with the chosen version
  const facts::Census& census;
  const assets::Store& assets;
  const playbook::Library& library;
  const bundle::Bundle* bundle = nullptr;
  const plan::Choice& choice;
};
struct SettledVersion {
  base::Version version;
  bool was_asked = false;  ///< repositories were queried: packages are to be installed
};
/// Queries the package repositories of the hosts on which selected steps install Kubernetes; if there are
/// none, returns the selected version without a query. Changes nothing. Fault::blocked if a repository's
/// response is invalid, or does not contain the version.
[[nodiscard]] Result<SettledVersion> resolve_patch(const playbook::ChosenVersion& version,
                                                   const VersionSources& sources, transport::Fleet& fleet);

/// Notes for the preview: the resolved patch version, and an image name that may change later.
[[nodiscard]] std::vector<std::string> version_notes(const playbook::ChosenVersion& chosen,
                                                     const SettledVersion& resolved,
                                                     const VersionSources& sources);

}  // namespace session
