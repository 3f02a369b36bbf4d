#include "commands/install/upgrade.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/upgrade.hpp"
#include "gpuadm/cluster/claimed_node.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/pod_tests.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/closing.hpp"
#include "commands/install/identity.hpp"
#include "commands/install/upgrade_stack.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Version;

Result<> check_source(const UpgradeOptions& options, const spec::Cluster& cluster) {
  if (!options.bundle.empty()) return {};
  if (cluster.kubernetes.source == spec::Source::bundle)
    return base::fail(Fault::usage, "kubernetes.source is 'bundle', but no bundle is given",
                      "add --bundle DIR");
  if (cluster.kubernetes.source == spec::Source::installed)
    return base::fail(Fault::usage,
                      "kubernetes.source is 'installed': gpuadm does not install newer packages",
                      "add --bundle DIR, or use `kubernetes: { source: packages }`");
  return {};
}

Result<spec::Cluster> cluster_of(const UpgradeOptions& options) {
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  if (!options.kubernetes_version.empty()) {
    cluster.kubernetes.version =
        TRY(spec::parse_kubernetes_version(options.kubernetes_version, "--kubernetes-version"));
  }
  if (!options.bundle.empty()) cluster.kubernetes.source = spec::Source::bundle;
  TRY(check_source(options, cluster));
  return cluster;
}

enum class Shown { always, if_blocked };

/// Evaluates and prints the checks; whether one blocks.
Result<bool> is_blocked(const checks::Upgrade& upgrade, const assets::Store& assets,
                        const session::RunContext& session, Format format, Shown shown, Io& io) {
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings = checks::examine_upgrade(upgrade, *data);
  std::ranges::move(checks::lint(upgrade.cluster, upgrade.to, *data), std::back_inserter(findings));
  std::erase_if(findings, [](const report::Finding& finding) { return !report::is_open(finding); });
  TRY(session.folder.save("findings.json", report::to_tree(findings)));
  const bool blocked = std::ranges::any_of(findings, report::blocks);
  if (!findings.empty() && format == Format::text && (blocked || shown == Shown::always))
    io.out(report::is_brief(io.out_style) ? report::short_text(findings, io.out_style)
                                          : report::to_text(findings, io.out_style));
  return session::stops(findings, io);
}

/// The order of the nodes, and the cluster's properties that the steps read.
plan::Choice choice_of(const checks::Upgrade& upgrade, const UpgradeOptions& options) {
  plan::Choice choice;
  choice.given = {{"drain", checks::drains(upgrade.facts) ? "yes" : "no"},
                  {"drain_timeout", std::to_string(options.drain_timeout)}};
  for (auto& hosts : checks::upgrade_order(upgrade.cluster, options.max_unavailable)) {
    std::vector<std::string> nodes;
    for (const std::string& host : hosts) nodes.push_back(checks::node_of(upgrade, host)->name);
    choice.batches.push_back({std::move(hosts), {{"each_nodes", base::join(nodes, " ")}}});
  }
  return choice;
}

/// Notes for the operator about a node's pods before it is drained.
void report_pods(const checks::Upgrade& upgrade, report::Reporter& reporter) {
  const auto note = [&](const std::string& host, const std::string& text) {
    report::Event event;
    event.host = host;
    event.did = report::Did::note;
    event.detail = text;
    reporter.on(event);
  };
  const bool drained = checks::drains(upgrade.facts);
  for (const spec::Host& host : upgrade.cluster.hosts) {
    const facts::Node* node = checks::node_of(upgrade, host.name);
    if (node->kubelet == "v" + upgrade.to.text()) continue;
    std::vector<std::string> pods;
    for (const facts::Pod* pod : cluster::gpu_pods(upgrade.facts, node->name)) pods.push_back(pod->full());
    if (!drained)
      note(host.name,
           "it is the only node: it is not drained, its pods keep running, and the API server is unavailable "
           "for a while");
    else if (!pods.empty())
      note(host.name, "pods that use its GPUs are evicted: " + base::join(pods, ", "));
  }
}

/// Upgrades control-plane nodes one at a time, then workers: drained, upgraded, Ready, and uncordoned.
/// Outcome::blocked, with nothing changed, if the cluster cannot be upgraded to that version. Continues an
/// interrupted upgrade.
Result<Outcome> upgrade(const UpgradeOptions& options, Io& io) {
  if (!options.runtime.empty() || !options.toolkit.empty() || !options.driver.empty())
    return upgrade_stack(options, io);
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "upgrade"));
  spec::Cluster asked = TRY(cluster_of(options));
  TRY(session::resolve_environment(asked, assets));
  std::optional<bundle::Bundle> opened;
  if (!options.bundle.empty())
    opened = TRY(session::open_verified(options.bundle, options.bundle_signers, io));
  const bundle::Bundle* bundle = opened ? &*opened : nullptr;
  // The installed version does not determine the target version.
  const playbook::ChosenVersion chosen = TRY(playbook::choose_version(asked, {}, library.catalog(), bundle));
  spec::Decisions decisions;
  decisions.kubernetes = chosen.version;

  const session::RunContext session =
      TRY(session::RunContext::open(asked, options.common.connection, options.consent, io));
  TRY(session.folder.save_decisions(asked, decisions));
  const session::Survey survey = TRY(session.survey_all(assets));
  TRY(session::has_control_plane(asked, survey.census));
  TRY(session::refuse_expired(survey.census));
  asked = TRY(identify(std::move(asked), options.hosts.file, survey, *session.fleet, assets)).cluster;
  TRY(session::resolve_environment(asked, assets));
  TRY(check_source(options, asked));
  if (bundle) TRY(session::is_for_hosts(*bundle, asked, survey.census));
  const facts::ClusterFacts facts =
      TRY(session::read_cluster_with_retry(asked, survey.census, *session.fleet, assets, io, "upgrade"));
  const spec::Cluster cluster = session::fitted(asked, survey.census, facts);

  checks::Upgrade upgrade{cluster, survey.census, facts, chosen.version};
  // An assumed patch version does not conflict with a newer one of the same minor in the cluster.
  if (const auto runs = Version::parse(facts.version);
      chosen.is_assumed && runs && runs->minor == upgrade.to.minor)
    upgrade.to = std::max(upgrade.to, *runs);
  const Shown shown = chosen.is_assumed ? Shown::if_blocked : Shown::always;
  if (TRY(is_blocked(upgrade, assets, session, options.format, shown, io))) return Outcome::blocked;
  const plan::Choice every_phase;
  const session::VersionSources sources{cluster, decisions, survey.census, assets,
                                        library, bundle,    every_phase};
  const session::SettledVersion resolved = TRY(session::resolve_patch(chosen, sources, *session.fleet));
  decisions.kubernetes = upgrade.to = resolved.version;
  TRY(session.folder.save_decisions(asked, decisions));
  if (chosen.is_assumed && TRY(is_blocked(upgrade, assets, session, options.format, Shown::always, io)))
    return Outcome::blocked;
  for (const spec::Host& host : cluster.hosts)
    if (const facts::Node* node = checks::node_of(upgrade, host.name))
      TRY(cluster::check_claimed_node(*node, host.name, cluster, survey.census, facts));

  session::PlaybookRun playbook_run{cluster,        assets, library, bundle, choice_of(upgrade, options),
                                    options.consent};
  playbook_run.decisions = decisions;
  playbook_run.reboots = options.reboots;
  const session::ProofImage image = TRY(session::ProofImage::write(assets, session.folder));
  session::NetworkJudge network(session::NetworkJudge::On::failure_fails);
  playbook_run.choice.carried = &image.bundle();
  playbook_run.judge = std::ref(network);
  playbook_run.waiting = options.waiting;
  playbook_run.notes = session::version_notes(chosen, resolved, sources);
  const CountedRun ran =
      TRY(run_and_count(session.folder, options.format, io, [&](report::Reporter& reporter) {
        report_pods(upgrade, reporter);
        return session::run_playbook(playbook_run, survey, session, reporter, io);
      }));
  close_upgrade(ran,
                {.cluster = cluster,
                 .session = session,
                 .assets = assets,
                 .kubeconfig = {},
                 .waiting = options.waiting,
                 .kubernetes = upgrade.to},
                options, io);
  return ran.outcome;
}

void add_upgrade(Line& line, UpgradeOptions& options) {
  add_hosts(line, options.hosts);
  line.value("--kubernetes-version", options.kubernetes_version, "VERSION",
             "Kubernetes version, for example 1.36.4; one minor version at a time");
  add_bundle_source(line, options.bundle, options.bundle_signers);
  line.attached("--runtime", options.runtime, "newest", "[=VERSION]",
                "Upgrade the container runtime instead of Kubernetes (default: latest)");
  line.attached("--toolkit", options.toolkit, "newest", "[=VERSION]",
                "Upgrade the NVIDIA Container Toolkit instead (default: latest)");
  line.attached("--driver", options.driver, "newest", "[=BRANCH]",
                "Upgrade the NVIDIA driver instead (default: branch recommended for the GPUs)");
  line.value("--max-unavailable", options.max_unavailable, "NUMBER",
             "Number of workers upgraded at the same time (default 1)")
      .range(1, 100);
  line.value("--drain-timeout", options.drain_timeout, "SECONDS",
             "Time limit for draining a node (default 300)")
      .range(1, 7200);
  add_consent(line, options.consent);
  add_reboots(line, options.reboots);
  add_waiting(line, options.waiting);
  add_format(line, options.format);
  add_connection(line, options.common);
}

}  // namespace

void close_upgrade(const CountedRun& run, Closing closing, const UpgradeOptions& options, Io& io) {
  if (run.outcome != Outcome::done || options.consent == Consent::preview || options.format != Format::text ||
      io.out_style.verbosity == report::Verbosity::quiet)
    return;
  closing.kubeconfig = own_kubeconfig(closing.cluster.name);
  closing.compute_on = run.changed;
  io.out(closing_text(closing, io));
}

Command upgrade_command() {
  return CommandRow<UpgradeOptions>{
      .name = "upgrade",
      .group = Group::install,
      .summary =
          "Upgrade Kubernetes, or container runtime, NVIDIA Container Toolkit and driver, node by node",
      .options = add_upgrade,
      .examples = {{"gpuadm upgrade -f cluster.yaml --kubernetes-version 1.36.4 --dry-run",
                    "show order and restarts"},
                   {"gpuadm upgrade -f cluster.yaml --driver --toolkit",
                    "driver and toolkit: drain, upgrade, verify"}},
      .run = upgrade};
}

}  // namespace commands
