#include "commands/install/upgrade_stack.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/upgrade.hpp"
#include "gpuadm/cluster/claimed_node.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/identity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

constexpr std::chrono::seconds query_timeout{240};  // fetching package lists has a shorter limit

/// Hosts with an upgrade to do or in progress.
struct Work {
  std::map<std::string, std::vector<NewerPart>> parts;  ///< of every host that was queried
  std::set<std::string> hosts, nodes;
  std::string targets;  ///< for the steps: one line "NODE PART PACKAGE VERSION" each
};

bool is_plain_word(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || std::string_view("+-.:~_").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// All hosts of the cluster, and which of them are selected.
struct Wanted {
  spec::Cluster cluster;
  std::set<std::string> hosts;
};

/// Kubernetes stays as it is. `options.driver` was validated.
void apply_request(const UpgradeOptions& options, spec::Cluster& cluster) {
  cluster.kubernetes.source = spec::Source::installed;
  cluster.kubernetes.version.reset();
  if (options.driver.empty()) return;
  cluster.gpu.driver = spec::DriverPolicy::install;
  cluster.gpu.driver_branch = static_cast<int>(base::to_int(options.driver).value_or(0));
}

Result<Wanted> what_is_wanted(const UpgradeOptions& options, const assets::Store& assets) {
  if (!options.kubernetes_version.empty() || !options.bundle.empty())
    return base::fail(Fault::usage,
                      "Kubernetes cannot be upgraded together with the runtime, toolkit or driver",
                      "run gpuadm upgrade twice");
  for (const std::string& requested : {options.runtime, options.toolkit, options.driver})
    if (!requested.empty() && !is_plain_word(requested))
      return base::fail(Fault::usage, fmt::format("invalid version: '{}'", base::printable(requested, 50)));
  const auto branch = base::to_int(options.driver == "newest" ? "0" : options.driver);
  if (!options.driver.empty() && (!branch || *branch < 0 || *branch > 9999))
    return base::fail(Fault::usage,
                      fmt::format("invalid driver branch: '{}'", base::printable(options.driver, 50)),
                      "for example: --driver, or --driver=580");
  Wanted wanted{TRY(session::read_cluster(options.hosts, options.common.connection)), {}};
  for (const spec::Host& host : wanted.cluster.hosts) wanted.hosts.insert(host.name);
  if (!options.hosts.file.empty())
    wanted.cluster = TRY(session::read_cluster({options.hosts.file, {}}, options.common.connection));
  TRY(session::resolve_environment(wanted.cluster, assets));
  apply_request(options, wanted.cluster);
  return wanted;
}

/// The cluster's own settings, with what the command requests.
Result<> take_identity(Wanted& wanted, const UpgradeOptions& options, const session::Survey& survey,
                       transport::Fleet& fleet, const assets::Store& assets) {
  wanted.cluster =
      TRY(identify(std::move(wanted.cluster), options.hosts.file, survey, fleet, assets)).cluster;
  TRY(session::resolve_environment(wanted.cluster, assets));
  apply_request(options, wanted.cluster);
  return {};
}

/// Only of the selected hosts: the GPUs of the others are irrelevant.
Result<spec::Decisions> decide(const Wanted& wanted, const facts::Census& census,
                               const assets::Store& assets) {
  spec::Cluster selected = wanted.cluster;
  std::erase_if(selected.hosts, [&](const spec::Host& host) { return !wanted.hosts.contains(host.name); });
  spec::Decisions decisions;
  TRY(session::decide_drivers(selected, census, assets, decisions));
  return decisions;
}

std::vector<std::string> requested_versions(const UpgradeOptions& options, const spec::HostDecisions& host) {
  std::vector<std::string> words;
  if (!options.runtime.empty()) words.push_back("runtime=" + options.runtime);
  if (!options.toolkit.empty()) words.push_back("toolkit=" + options.toolkit);
  if (!options.driver.empty() && host.driver_branch != 0) words.emplace_back("driver=newest");
  return words;
}

/// Reads which packages of the selected hosts have newer versions.
Result<Work> read_newer(const UpgradeOptions& options, const std::set<std::string>& hosts,
                        const spec::Decisions& decisions, const checks::Upgrade& upgrade,
                        const playbook::Library& library, transport::Fleet& fleet, Io& io) {
  Work work;
  std::map<std::string, std::string> names;  // the node names that the steps of a host use
  for (const spec::Host& host : upgrade.cluster.hosts) {
    if (!hosts.contains(host.name)) continue;
    const playbook::Context context{upgrade.cluster,   decisions, host,       *upgrade.census.at(host.name),
                                    library.catalog(), nullptr,   upgrade.to, &upgrade.census};
    base::Variables variables{{"gpuadm_step", "look"}, {"stack_targets", ""}};
    for (const char* name : {"engine", "node_name", "driver_branch", "driver_modules", "driver_names"})
      variables[name] = playbook::variable(name, context).value_or("");
    names[host.name] = variables["node_name"];
    std::string script = library.prelude() + "\n" + base::assignments(variables) + "stack_look";
    for (const std::string& requested : requested_versions(options, decisions.of(host.name)))
      script += " " + base::quote(requested);
    fleet.submit(host.name, {.label = "read which packages have newer versions",
                             .script = script + "\n",
                             .timeout = query_timeout});
  }
  while (auto completion = fleet.next()) {
    const std::string host = base::printable(completion->host);
    if (!completion->result) return std::unexpected(completion->result.error());
    const transport::Exit& exit = *completion->result;
    if (exit.status != 0)
      return base::fail(Fault::blocked, fmt::format("{}: {}", host, base::tail(exit.err, 3)));
    if (!base::trim(exit.err).empty()) io.err(fmt::format("{}: {}\n", host, base::tail(exit.err, 1)));
    work.parts[completion->host] = TRY(read_parts(exit.out));
  }
  if (fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted while reading package versions");
  for (const auto& [host, parts] : work.parts) {
    const facts::Node* node = checks::node_of(upgrade, host);
    if (!node)
      return base::fail(Fault::blocked, fmt::format("{} is not a node of the cluster", host),
                        "omit it, or join it first");
    TRY(cluster::check_claimed_node(*node, host, upgrade.cluster, upgrade.census, upgrade.facts));
    const bool some = std::ranges::any_of(parts, [](const NewerPart& part) { return part.work; });
    if (!some && node->upgrade.empty()) continue;
    work.hosts.insert(host);
    work.nodes.insert(node->name);
    for (const NewerPart& part : parts)
      work.targets += fmt::format("{} {} {} {}\n", names[host], part.name, part.package, part.newest);
  }
  return work;
}

plan::Choice choice_of(const UpgradeOptions& options, const checks::Upgrade& upgrade, const Work& work) {
  plan::Choice choice;
  // The toolkit does not affect running pods.
  const bool drains = checks::drains(upgrade.facts) && (!options.runtime.empty() || !options.driver.empty());
  choice.given = {{"drain", drains ? "yes" : "no"},
                  {"drain_timeout", std::to_string(options.drain_timeout)},
                  {"stack_targets", work.targets}};
  if (options.driver.empty()) choice.skip_phases = {"upgrade/rehearsal", "upgrade/driver"};
  if (options.toolkit.empty()) choice.skip_phases.emplace_back("upgrade/toolkit");
  if (options.runtime.empty())
    for (const char* phase : {"upgrade/runtime", "upgrade/runtime-config", "upgrade/runtime-verify"})
      choice.skip_phases.emplace_back(phase);
  // Without a cluster file, the intended configuration is unknown.
  else if (options.hosts.file.empty())
    choice.skip_phases.emplace_back("upgrade/runtime-config");
  if (options.driver.empty() || options.hosts.file.empty()) choice.skip_phases.emplace_back("upgrade/labels");
  const bool gpus = !options.driver.empty() || !options.toolkit.empty();
  if (!gpus) choice.skip_phases.emplace_back("upgrade/cdi");
  // A node that advertised no GPUs before is not waited for.
  const bool offers = std::ranges::any_of(*upgrade.facts.nodes, [&](const facts::Node& node) {
    return work.nodes.contains(node.name) && std::ranges::any_of(node.capacity, [](const auto& of) {
             return of.first.starts_with("nvidia.com/");
           });
  });
  if (!gpus || !offers) choice.skip_phases.emplace_back("upgrade/offered");
  spec::Cluster cluster = upgrade.cluster;
  std::erase_if(cluster.hosts, [&](const spec::Host& host) { return !work.hosts.contains(host.name); });
  for (auto& hosts : checks::upgrade_order(cluster, options.max_unavailable)) {
    std::vector<std::string> nodes;
    for (const std::string& host : hosts) nodes.push_back(checks::node_of(upgrade, host)->name);
    base::Variables given{{"each_nodes", base::join(nodes, " ")}, {"gpu_hosts", base::join(hosts, " ")}};
    choice.batches.push_back({std::move(hosts), std::move(given)});
  }
  return choice;
}

void note(report::Reporter& reporter, const std::string& host, const std::string& text) {
  report::Event event;
  event.host = host;
  event.detail = base::printable(text, 2000);
  reporter.on(event);
}

/// Notes for the operator about each node before it is changed.
void report_work(const checks::Upgrade& upgrade, const Work& work, bool drained, report::Reporter& reporter) {
  for (const std::string& host : work.hosts) {
    for (const NewerPart& part : work.parts.at(host)) {
      if (!part.work) continue;
      const bool same = part.installed == part.newest;
      note(reporter, host,
           same ? fmt::format("{} {} is installed but not yet in use", part.package, part.newest)
                : fmt::format("{}: {} -> {}", part.package, part.installed, part.newest));
    }
    std::vector<std::string> pods;
    for (const facts::Pod* pod : cluster::gpu_pods(upgrade.facts, checks::node_of(upgrade, host)->name))
      pods.push_back(pod->full());
    if (pods.empty()) continue;
    note(reporter, host,
         (drained ? "pods that use its GPUs are evicted: " : "pods that use its GPUs keep running: ") +
             base::join(pods, ", "));
  }
}

Result<bool> is_stack_blocked(const checks::Upgrade& upgrade, const assets::Store& assets,
                              const session::RunContext& session, Format format, Io& io) {
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  const std::vector<report::Finding> findings = checks::examine_upgrade(upgrade, *data);
  TRY(session.folder.save("findings.json", report::to_tree(findings)));
  if (!findings.empty() && format == Format::text) io.out(report::to_text(findings, io.out_style));
  return session::stops(findings, io);
}

}  // namespace

Result<std::vector<NewerPart>> read_parts(std::string_view text) {
  std::vector<NewerPart> parts;
  for (const std::string_view line : base::lines(text)) {
    const auto words = base::words(line);
    if (words.size() != 5 || !std::ranges::all_of(words, is_plain_word) ||
        (words[4] != "yes" && words[4] != "no"))
      return base::fail(Fault::parse,
                        fmt::format("unexpected line in the package list: '{}'", base::printable(line, 100)));
    parts.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2]),
                     std::string(words[3]), words[4] == "yes"});
  }
  return parts;
}

Result<Outcome> upgrade_stack(const UpgradeOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "upgrade-stack"));
  Wanted wanted = TRY(what_is_wanted(options, assets));
  const session::RunContext session =
      TRY(session::RunContext::open(wanted.cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  TRY(session::has_control_plane(wanted.cluster, survey.census));
  TRY(session::refuse_expired(survey.census));
  TRY(take_identity(wanted, options, survey, *session.fleet, assets));
  const facts::ClusterFacts facts =
      TRY(session::read_cluster_with_retry(wanted.cluster, survey.census, *session.fleet, assets, io));
  const spec::Cluster cluster = session::fitted(wanted.cluster, survey.census, facts);
  const spec::Decisions decisions = TRY(decide(wanted, survey.census, assets));
  TRY(session.folder.save("decisions.json", spec::to_tree(decisions)));

  checks::Upgrade upgrade{cluster, survey.census, facts,
                          base::Version::parse(facts.version).value_or(base::Version{})};
  const Work work = TRY(read_newer(options, wanted.hosts, decisions, upgrade, library, *session.fleet, io));
  upgrade.only = work.nodes;
  if (TRY(is_stack_blocked(upgrade, assets, session, options.format, io))) return Outcome::blocked;

  session::PlaybookRun playbook_run{
      cluster, assets, library, nullptr, choice_of(options, upgrade, work), options.consent};
  playbook_run.decisions = decisions;
  playbook_run.reboots = options.reboots;
  const CountedRun ran = TRY(
      run_and_count(session.folder, options.format, io, [&](report::Reporter& reporter) -> Result<Outcome> {
        if (work.hosts.empty()) {
          session::notify(reporter, report::Did::finished, "nothing to do");
          return Outcome::done;
        }
        report_work(upgrade, work, playbook_run.choice.given.at("drain") == "yes", reporter);
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

}  // namespace commands
