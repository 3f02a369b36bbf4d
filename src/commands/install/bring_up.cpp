#include "commands/install/bring_up.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/admin_conf.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/session/cluster_view.hpp"
#include "gpuadm/session/decide.hpp"
#include "gpuadm/session/environment.hpp"
#include "gpuadm/session/expired.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/kubernetes_version.hpp"
#include "gpuadm/session/network_judge.hpp"
#include "gpuadm/session/open_bundle.hpp"
#include "gpuadm/session/typed.hpp"

#include "commands/install/identity.hpp"
#include "commands/operate/gpu/gpu_plan.hpp"
#include "commands/operate/health/enable.hpp"
#include "commands/operate/health/program.hpp"
#include "commands/run_summary.hpp"

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
                                                         {"report", "Show the results"}};

void list_phases(const playbook::Playbook& playbook, Io& io) {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, title] : before) lines.push_back({name, title});
  for (const playbook::Phase& phase : playbook.phases) lines.push_back({phase.name, phase.title});
  for (const auto& [name, title] : after) lines.push_back({name, title});
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
                                  const session::Survey& survey, const session::Session& session,
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

/// What the operator should know about the cluster before confirming.
std::optional<std::string> identity_note(const Identity& identity, const InitOptions& options) {
  if (identity.control_plane.empty()) return std::nullopt;
  const std::string name = base::printable(identity.cluster.name, 100);
  if (!identity.is_stored || !options.hosts.file.empty())
    return fmt::format("{} is a control plane of cluster {}", identity.control_plane, name);
  return fmt::format("{} is a control plane of cluster {}: settings are those of its stored cluster file",
                     identity.control_plane, name);
}

/// The cluster with the hosts that participate.
Result<spec::Cluster> participating(const BringUp& setup, const session::Session& session,
                                    session::Survey& survey, const assets::Store& assets) {
  if (!setup.resolve) return setup.cluster;
  spec::Cluster cluster = TRY(setup.resolve(setup.cluster, survey, *session.fleet));
  TRY(session::resolve_environment(cluster, assets));  // of a stored cluster file
  TRY(session.folder.save("cluster.yaml", spec::to_tree(cluster)));
  TRY(session.folder.save("facts.json", session::to_tree(survey.census)));
  return cluster;
}

/// The version that this run installs or finds, so that the checks judge the result, and joining nodes get
/// the same: the first control-plane node's. Nothing: no host is to be a control-plane node.
Result<std::optional<playbook::ChosenVersion>> choose_version(const spec::Cluster& cluster,
                                                              const facts::Census& census,
                                                              const playbook::Library& library,
                                                              const bundle::Bundle* bundle) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first) return std::nullopt;
  return TRY(playbook::choose_version(cluster, *census.at(first->name), library.catalog(), bundle));
}

/// Whether the bundle has the Kubernetes version of the nodes among the hosts: other versions require
/// upgrade.
Result<> same_version(const spec::Cluster& cluster, const facts::Census& census,
                      const bundle::Bundle* bundle) {
  const auto carried = bundle ? base::Version::parse(bundle->kubernetes) : std::nullopt;
  if (!carried) return {};
  TRY(session::is_for_hosts(*bundle, cluster, census));
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second || !playbook::is_node(*facts->second)) continue;
    const auto& kubelet = facts->second->kubernetes.kubelet;
    const auto runs = kubelet ? base::Version::parse(*kubelet) : std::nullopt;
    if (!runs || *runs == *carried) continue;
    return base::fail(
        base::Fault::blocked,
        fmt::format("{} runs Kubernetes {}, and the bundle {} contains {}", host.name, runs->text(),
                    bundle->directory.string(), carried->text()),
        *runs < *carried
            ? "`gpuadm upgrade --bundle` upgrades a cluster"
            : fmt::format("a node cannot be downgraded: use a bundle of Kubernetes {}", runs->text()));
  }
  return {};
}

/// Evaluates and prints the checks; whether one blocks.
Result<bool> is_blocked(const InitOptions& options, const spec::Cluster& cluster,
                        const spec::Decisions& decisions, const facts::Census& census,
                        const assets::Store& assets, const session::RunFolder& folder, Io& io) {
  std::vector<report::Finding> findings =
      TRY(session::find(cluster, decisions, census, assets, checks::Stage::preflight));
  TRY(session::ignore(findings, options.ignore));
  TRY(folder.save("findings.json", report::to_tree(findings)));
  if (options.format == Format::text)
    io.out(report::is_brief(io.out_style) ? report::short_text(findings, io.out_style)
                                          : report::to_text(findings, io.out_style));
  return session::stops(findings, io);
}

/// Checks that no host uses the virtual address before the cluster does. The first control-plane node checks
/// it, before anything is changed.
Result<> virtual_address_is_free(const spec::Cluster& cluster, const facts::Census& census,
                                 const playbook::Library& library, transport::Fleet& fleet) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  const std::string& address = cluster.control_plane.virtual_address;
  if (address.empty() || !first || playbook::is_node(*census.at(first->name)) ||
      std::ranges::count(census.at(first->name)->kubernetes.manifests, "kube-vip.yaml") > 0)
    return {};
  const transport::Exit exit = TRY(session::ask(
      first->name,
      {.label = "check that the virtual address is free",
       .script = library.prelude() + base::assignments({{"virtual_address", address}}) + "vip_is_free\n"},
      fleet));
  if (exit.status == 0) return {};
  return base::fail(base::Fault::blocked,
                    fmt::format("{}: {}", first->name, base::printable(base::tail(exit.err, 1))),
                    "gpuadm explain kubeadm.virtual-address");
}

/// The operator's copy of a remote cluster's kubeconfig; empty: none.
Result<std::filesystem::path> fetch_kubeconfig(const spec::Cluster& cluster, const facts::Census& census,
                                               transport::Fleet& fleet, const assets::Store& assets) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first || first->endpoint.local) return std::filesystem::path();
  const auto text = session::read_admin_conf(cluster, fleet, assets);
  if (!text) return std::filesystem::path();  // a run of some phases may end before it exists
  std::filesystem::path file = base::state_directory() / cluster.name / "kubeconfig";
  const base::Tree admin = TRY(base::yaml::read(*text, first->name + ":/etc/kubernetes/admin.conf"));
  const base::Tree config = TRY(session::with_context({}, admin, cluster.name, session::Current::becomes));
  TRY(base::write_file(file, base::yaml::write(config), 0600));
  return file;
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

/// The summary for people; with -o json, prints the kubeconfig's path to standard error.
Result<> conclude(const InitOptions& options, const session::PlaybookRun& run, const Hosts& reached_by,
                  const session::Survey& survey, transport::Fleet& fleet, Io& io) {
  const std::filesystem::path kubeconfig =
      TRY(fetch_kubeconfig(run.cluster, survey.census, fleet, run.assets));
  const bool whole = options.phases.empty() && options.skip_phases.empty();
  if (options.format != Format::text || io.out_style.verbosity == report::Verbosity::quiet || !whole) {
    if (!kubeconfig.empty()) io.err(fmt::format("kubeconfig: {}\n", kubeconfig.string()));
    return {};
  }
  io.out(
      to_text({run.cluster, survey.census, kubeconfig, session::typed(reached_by, options.common.connection),
               options.waiting == Waiting::until_it_works, spec::kubernetes_of(run.cluster, run.decisions)}));
  return {};
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
  // Everything that can fail without a host is checked before hosts are contacted.
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, setup.playbook));
  const plan::Choice choice{options.phases, options.skip_phases, {}, {}};
  TRY(plan::known_phases(library.playbook(), choice));
  if (options.list_phases) {
    list_phases(library.playbook(), io);
    return Outcome::done;
  }
  TRY(session::known_ids(options.ignore));
  std::optional<bundle::Bundle> bundle;
  if (!options.bundle.empty())
    bundle = TRY(session::bring_bundle(options.bundle, options.bundle_signers, io));
  TRY(session::resolve_environment(setup.cluster, assets));
  TRY(session::read_storage_keys(setup.cluster));
  const session::Session session =
      TRY(session::Session::open(setup.cluster, options.common.connection, options.consent, io));
  session::Survey survey =
      TRY(setup.resolve ? session::take_census(*session.fleet, assets) : session.survey_all(assets));
  const Identity identity = TRY(identify_cluster(options, TRY(participating(setup, session, survey, assets)),
                                                 survey, session, assets, io));
  const spec::Cluster& cluster = identity.cluster;
  const bundle::Bundle* carried = bundle ? &*bundle : nullptr;
  const auto chosen = TRY(choose_version(cluster, survey.census, library, carried));

  // Checks. Nothing has been changed so far.
  TRY(session::refuse_expired(survey.census));
  TRY(same_version(cluster, survey.census, carried));
  spec::Decisions decisions;
  if (chosen) decisions.kubernetes = chosen->version;
  decisions.may_exist = setup.existing == Existing::accepted;
  TRY(session::decide_drivers(cluster, survey.census, assets, decisions));
  session::decide_supplies(cluster, survey.census, carried, choice, decisions);
  TRY(session.folder.save("decisions.json", spec::to_tree(decisions)));
  if (TRY(is_blocked(options, cluster, decisions, survey.census, assets, session.folder, io)))
    return Outcome::blocked;
  TRY(virtual_address_is_free(cluster, survey.census, library, *session.fleet));
  std::vector<std::string> notes;
  if (chosen) {
    const session::VersionSources sources{cluster, decisions, survey.census, assets,
                                          library, carried,   choice};
    const session::SettledVersion resolved = TRY(session::resolve_patch(*chosen, sources, *session.fleet));
    decisions.kubernetes = resolved.version;
    notes = session::version_notes(*chosen, resolved, sources);
  }
  if (auto note = identity_note(identity, options)) notes.insert(notes.begin(), std::move(*note));
  TRY(session.folder.save_decisions(cluster, decisions));

  // Changes.
  const session::ProofImage image = TRY(session::ProofImage::write(assets, session.folder));
  session::NetworkJudge network(session::NetworkJudge::On::failure_fails);
  session::PlaybookRun playbook_run{cluster, assets,          library,      carried,
                                    choice,  options.consent, setup.needed, options.reboots};
  bundle::Bundle files = image.bundle();
  playbook_run.choice.carried = &files;
  TRY(choose_health(cluster, survey.census, *session.fleet, assets, playbook_run.choice, files));
  playbook_run.judge = std::ref(network);
  playbook_run.waiting = options.waiting;
  playbook_run.notes = std::move(notes);
  playbook_run.decisions = decisions;
  if (!identity.control_plane.empty())
    playbook_run.running = {cluster.name, survey.census.at(identity.control_plane)->gpuadm_installed,
                            options.change_network ? Consent::given : Consent::ask};
  const Outcome outcome = TRY(session::run_and_report(playbook_run, survey, session, options.format, io));
  if (outcome == Outcome::done && options.consent != Consent::preview)
    TRY(conclude(options, playbook_run, setup.reached_by.value_or(options.hosts), survey, *session.fleet,
                 io));
  return outcome;
}

Result<Outcome> bring_up(const InitOptions& options, Existing existing, Outcome needed, Io& io) {
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  TRY(apply_options(options, cluster));
  return bring_up(options, {"init", std::move(cluster), {}, needed, existing}, io);
}

}  // namespace commands
