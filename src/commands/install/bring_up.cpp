#include "commands/install/bring_up.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/bring_up_served.hpp"
#include "commands/install/bring_up_stages.hpp"
#include "commands/install/bring_up_users.hpp"
#include "commands/install/closing.hpp"
#include "commands/install/consequence.hpp"
#include "commands/operate/gpu/gpu_plan.hpp"
#include "commands/operate/health/enable.hpp"
#include "commands/operate/health/program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

/// The phases around those of a playbook.
constexpr std::pair<const char*, const char*> before[] = {
    {"connect", "Log in to every host"},
    {"facts", "Read the facts of the hosts, one round trip each"},
    {"preflight", "Check for problems"},
    {"plan", "Show the plan with diffs"},
    {"lock", "Lock the hosts"}};
constexpr std::pair<const char*, const char*> after[] = {{"unlock", "Unlock the hosts"},
                                                         {users_phase, users_title},
                                                         {serve_phase, serve_title},
                                                         {"report", "Show the results"}};

void list_phases(const playbook::Playbook& playbook, Io& io) {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, title] : before) lines.push_back({name, title});
  for (const playbook::Phase& phase : playbook.phases) lines.push_back({phase.name, phase.title});
  for (const auto& [name, title] : after)
    if (!is_listed_phase(name) || playbook.id == "init") lines.push_back({name, title});
  io.out(report::columns(std::move(lines)));
}

/// Hosts of a running cluster keep the settings of their GPUs, which `gpuadm gpu share` and `gpu mig` change
/// without a cluster file.
Result<> keep_gpu_settings(spec::Cluster& cluster, const session::Survey& survey, transport::Fleet& fleet,
                           const assets::Store& assets, Io& io) {
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts)
    if (const auto& facts = survey.census.at(host.name);
        facts && playbook::is_node(*facts) && !facts->nvidia.gpus.empty())
      hosts.push_back(host.name);
  if (hosts.empty()) return {};
  const facts::ClusterFacts view =
      TRY(session::read_cluster_with_retry(cluster, survey.census, fleet, assets, io));
  TRY(facts::require_nodes_and_pods(view));
  for (const std::string& host : hosts)
    TRY(keep_set_up(cluster, host, {}, *survey.census.at(host), view, {}));
  return {};
}

/// The cluster that the run is about: its stored cluster file with what was typed, or the cluster file.
Result<Identity> identify_cluster(const InitOptions& options, spec::Cluster cluster,
                                  const session::Survey& survey, const session::RunContext& session,
                                  const assets::Store& assets, Io& io) {
  const std::filesystem::path& file = options.hosts.file;
  Identity identity = TRY(identify(std::move(cluster), file, survey, *session.fleet, assets));
  if (file.empty() && identity.is_stored) {
    TRY(apply_options(options, identity.cluster));
    TRY(session::resolve_environment(identity.cluster, assets));
    TRY(keep_gpu_settings(identity.cluster, survey, *session.fleet, assets, io));
    TRY(session.folder.save("cluster.yaml", spec::to_tree(identity.cluster)));
  }
  TRY(require_version(identity.cluster, identity, survey.census,
                      options.kubernetes_version.empty() ? file.string() : "--kubernetes-version"));
  return identity;
}

/// The cluster with the hosts that participate.
Result<spec::Cluster> participating(const BringUp& setup, const session::RunContext& session,
                                    session::Survey& survey, const assets::Store& assets) {
  if (!setup.resolve) return setup.cluster;
  spec::Cluster cluster = TRY(setup.resolve(setup.cluster, survey, *session.fleet));
  TRY(session::resolve_environment(cluster, assets));  // of a stored cluster file
  TRY(session.folder.save("cluster.yaml", spec::to_tree(cluster)));
  TRY(session.folder.save("facts.json", session::to_tree(survey.census)));
  return cluster;
}

constexpr const char* health_phases[] = {"health/program", "health/timer", "health/metrics"};

/// Whether the cluster has health checks, which hosts lack: those of its first control-plane node are the
/// cluster's.
const spec::Host* with_health(const spec::Cluster& cluster, const facts::Census& census) {
  const auto has = [&](const spec::Host& host) {
    const auto facts = census.find(host.name);
    return facts != census.end() && facts->second && facts->second->software.units.contains(health_timer);
  };
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  return first && has(*first) && !std::ranges::all_of(cluster.hosts, has) ? first : nullptr;
}

/// Hosts without health checks get those of the cluster. `files`: what gpuadm carries to hosts.
Result<> choose_health(const spec::Cluster& cluster, const facts::Census& census, transport::Fleet& fleet,
                       const assets::Store& assets, plan::Choice& choice, bundle::Bundle& files) {
  const spec::Host* first = with_health(cluster, census);
  if (!first) {
    choice.skip_phases.insert(choice.skip_phases.end(), std::begin(health_phases), std::end(health_phases));
    return {};
  }
  const HealthSettings settings = TRY(read_settings(first->name, fleet, assets));
  choice.given = variables_of(settings);
  if (settings.metrics == MetricsPlace::off) choice.skip_phases.emplace_back("health/metrics");
  const bundle::Bundle program = TRY(own_program());
  for (bundle::BundleFile file : program.files) {
    file.path = (program.directory / file.path).string();
    files.files.push_back(std::move(file));
  }
  return {};
}

/// Everything that can fail without a host: the bundle, the proxy, and the keys of storages.
Result<std::optional<bundle::Bundle>> prepare(const InitOptions& options, spec::Cluster& cluster,
                                              const assets::Store& assets, const Io& io) {
  TRY(session::known_ids(options.ignore));
  std::optional<bundle::Bundle> bundle;
  if (!options.bundle.empty())
    bundle = TRY(session::open_verified(options.bundle, options.bundle_signers, io));
  TRY(session::resolve_environment(cluster, assets));
  TRY(session::read_storage_keys(cluster));
  return bundle;
}

/// Executes the plan on the hosts, after confirmation.
Result<Outcome> change_hosts(const BringUpRun& run, const Decided& decided, Io& io) {
  const InitOptions& options = run.options;
  const spec::Cluster& cluster = run.identity.cluster;
  const session::ProofImage image = TRY(session::ProofImage::write(run.assets, run.session.folder));
  session::NetworkJudge network(session::NetworkJudge::On::failure_fails);
  session::PlaybookRun playbook_run{cluster,    run.assets,      run.library,      run.bundle,
                                    run.choice, options.consent, run.setup.needed, options.reboots};
  bundle::Bundle files = image.bundle();
  playbook_run.choice.carried = &files;
  TRY(choose_health(cluster, run.survey.census, *run.session.fleet, run.assets, playbook_run.choice, files));
  playbook_run.judge = std::ref(network);
  playbook_run.waiting = options.waiting;
  playbook_run.notes = decided.notes;
  playbook_run.decisions = decided.decisions;
  playbook_run.consequence = [&](const session::NeededEffects& needed) {
    return consequence_for_gpus(cluster, run.survey.census, needed);
  };
  if (const std::string& host = run.identity.control_plane; !host.empty())
    playbook_run.running = {cluster.name, run.survey.census.at(host)->gpuadm_installed,
                            options.change_network ? Consent::given : Consent::ask};
  UsersStage users(run);
  ServeStage models(run, io);
  int users_needed = 0, models_needed = 0;  // the changes that the question was about
  playbook_run.more = [&](report::Reporter& reporter) -> Result<int> {
    if (users.is_chosen()) users_needed = TRY(users.preview(reporter));
    if (models.is_chosen()) models_needed = TRY(models.preview(reporter));
    return users_needed + models_needed;
  };
  const CountedRun ran = TRY(run_and_count(
      run.session.folder, options.format, io, [&](report::Reporter& reporter) -> Result<Outcome> {
        Outcome outcome = TRY(session::run_playbook(playbook_run, run.survey, run.session, reporter, io));
        if (options.consent == Consent::preview) return outcome;
        if (outcome == Outcome::done && users_needed > 0) outcome = TRY(users.apply(reporter, io));
        if (outcome == Outcome::done && models_needed > 0) outcome = TRY(models.apply(reporter));
        return outcome;
      }));
  if (ran.outcome == Outcome::done && options.consent != Consent::preview)
    TRY(conclude(run, playbook_run, ran, io));
  return ran.outcome;
}

}  // namespace

spec::Cluster without(spec::Cluster cluster, const std::set<std::string>& hosts, session::Survey& survey,
                      transport::Fleet& fleet) {
  std::erase_if(cluster.hosts, [&](const spec::Host& host) { return hosts.contains(host.name); });
  for (const std::string& host : hosts) {
    survey.census.erase(host);
    fleet.remove(host);
  }
  return cluster;
}

Result<Outcome> bring_up(const InitOptions& options, BringUp setup, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, setup.playbook));
  const plan::Choice choice{options.phases, options.skip_phases, {}, {}};
  TRY(plan::known_phases(library.playbook(), choice));
  if (options.list_phases) {
    list_phases(library.playbook(), io);
    return Outcome::done;
  }
  const std::optional<bundle::Bundle> bundle = TRY(prepare(options, setup.cluster, assets, io));
  const session::RunContext session =
      TRY(session::RunContext::open(setup.cluster, options.common.connection, options.consent, io));
  session::Survey survey =
      TRY(setup.resolve ? session::take_census(*session.fleet, assets) : session.survey_all(assets));
  const Identity identity = TRY(identify_cluster(options, TRY(participating(setup, session, survey, assets)),
                                                 survey, session, assets, io));
  const BringUpRun run{options, setup,  assets,  library, choice, bundle ? &*bundle : nullptr,
                       session, survey, identity};
  Decided decided = TRY(decide(run));
  if (TRY(is_blocked(run, decided, io))) return Outcome::blocked;
  TRY(resolve_version(run, decided));
  return change_hosts(run, decided, io);
}

Result<Outcome> bring_up(const InitOptions& options, Existing existing, Outcome needed, Io& io) {
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  TRY(apply_options(options, cluster));
  return bring_up(options, {"init", std::move(cluster), {}, needed, existing}, io);
}

}  // namespace commands
