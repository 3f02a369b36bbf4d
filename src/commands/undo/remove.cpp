#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/leaving_node.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/run_summary.hpp"
#include "commands/shared_options.hpp"
#include "commands/undo/running_workloads.hpp"
#include "commands/undo/teardown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace commands {

namespace {

struct RemoveOptions {
  Common common;
  Hosts hosts;     ///< its targets are the hosts to remove
  std::string to;  ///< a remaining control-plane node, if no file is given
  bool force = false;
  bool keep_images = false, keep_driver = false;
  int drain_timeout = 300;  ///< seconds for a node's pods to end
  Consent consent = Consent::ask;
  Format format = Format::text;
};

using base::Fault;

/// The hosts to remove and the remaining ones, with their facts.
struct Parting {
  spec::Cluster cluster;  ///< the acting control-plane node first, then nodes with routes to the others
  spec::Cluster leaving;  ///< reachable hosts to remove
  std::vector<std::string> gone;                           ///< unreachable hosts to remove
  std::string lines;                                       ///< one per removed node, for playbooks/remove.sh
  std::set<std::string> nodes;                             ///< their names
  std::vector<std::pair<std::string, std::string>> notes;  ///< host -> its node
  bool undo_plans_left = false;  ///< remaining nodes that are not selected have routes to the removed ones
  facts::Census census;
};

Result<spec::Cluster> cluster_of(const RemoveOptions& options) {
  if (options.hosts.targets.empty())
    return base::fail(Fault::usage, "no host to remove is given",
                      "gpuadm remove HOST… -f cluster.yaml, or gpuadm remove HOST… --to CONTROL-PLANE");
  if (options.hosts.file.empty() == options.to.empty())
    return base::fail(Fault::usage, "either -f or --to is needed, and not both",
                      "gpuadm remove HOST… -f cluster.yaml, or gpuadm remove HOST… --to CONTROL-PLANE");
  if (!options.hosts.file.empty()) {
    TRY(session::read_cluster(options.hosts,
                              options.common.connection));  // reports the names that are not in the file
    return session::read_cluster({options.hosts.file, {}}, options.common.connection);
  }
  Hosts all{{}, {options.to}};
  all.targets.insert(all.targets.end(), options.hosts.targets.begin(), options.hosts.targets.end());
  return session::read_cluster(all, options.common.connection);
}

/// The node names of the hosts to remove.
std::vector<std::string> names_of(const RemoveOptions& options, const spec::Cluster& cluster) {
  if (!options.hosts.file.empty()) return options.hosts.targets;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < cluster.hosts.size(); ++i) names.push_back(cluster.hosts[i].name);
  return names;
}

Result<cluster::Nodes> nodes_of(const std::string& host, transport::Fleet& fleet,
                                const assets::Store& assets) {
  const transport::Exit exit = TRY(session::ask(
      host, {.label = "read the cluster's nodes", .asset = "playbooks/read/nodes.sh"}, fleet, assets));
  if (exit.status != 0)
    return base::fail(Fault::remote,
                      fmt::format("{}: cannot list the cluster's nodes: {}", host,
                                  base::printable(base::tail(exit.err, 3))),
                      "gpuadm doctor --stage cluster");
  return cluster::read_nodes(exit.out);
}

/// Hosts that leave must be reachable, unless they are removed as lost, and a control-plane node that
/// remains.
Result<> require_reachable(const std::vector<std::string>& leaving, const spec::Host* actor, bool force,
                           const facts::Census& census) {
  bool lost = false;  // a host that leaves
  auto reached = session::all_read(census, [&](const std::string& host) {
    const bool leaves = std::ranges::find(leaving, host) != leaving.end();
    lost = lost || (leaves && !force);
    return leaves ? !force : !actor;
  });
  if (!reached && lost) {
    std::string& hint = reached.error().hint;
    hint +=
        (hint.empty() ? "" : "; ") + std::string("to remove a host that is permanently lost, use --force");
  }
  return reached;
}

/// The acting control-plane node: the first remaining reachable one. A worker with an admin.conf does not
/// count.
const spec::Host* acting(const spec::Cluster& cluster, const session::Survey& survey,
                         const std::vector<std::string>& leaving) {
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = survey.census.at(host.name);
    if (facts && facts->kubernetes.admin_conf && host.role == spec::Role::control_plane &&
        std::ranges::find(leaving, host.name) == leaving.end())
      return &host;
  }
  return nullptr;
}

Result<Parting> part(const RemoveOptions& options, const spec::Cluster& cluster,
                     const session::Survey& survey, transport::Fleet& fleet, const assets::Store& assets) {
  Parting parting{cluster, cluster, {}, {}, {}, {}};
  parting.cluster.hosts.clear();
  parting.leaving.hosts.clear();
  const std::vector<std::string> names = names_of(options, cluster);
  const spec::Host* actor = acting(cluster, survey, names);
  TRY(require_reachable(names, actor, options.force, survey.census));
  if (!actor)
    return base::fail(Fault::blocked, "no remaining control-plane node is reachable",
                      "to remove the whole cluster: gpuadm reset");
  const facts::Facts& at_actor = *survey.census.at(actor->name);
  parting.cluster.hosts.push_back(*actor);
  parting.cluster.hosts.back().role = spec::Role::control_plane;
  parting.census.emplace(actor->name, at_actor);
  const cluster::Nodes nodes = TRY(nodes_of(actor->name, fleet, assets));
  if (nodes.routed && options.hosts.file.empty()) {
    parting.cluster.network.plugin = spec::NetworkPlugin::bridge;
    parting.undo_plans_left = nodes.all.size() > names.size() + 1;
  }
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = survey.census.at(host.name);
    const bool leaves = std::ranges::find(names, host.name) != names.end();
    if (!leaves && host.name != actor->name) {
      // Flannel removes the routes by itself.
      const bool has_undo_plans = cluster.network.plugin == spec::NetworkPlugin::bridge &&
                                  !options.hosts.file.empty() && facts && playbook::is_node(*facts);
      if (has_undo_plans) {
        parting.cluster.hosts.push_back(host);
        parting.census.emplace(host.name, *facts);
      } else {
        fleet.remove(host.name);
      }
    }
    if (!leaves) continue;
    if (facts && !facts->machine.id.empty() && facts->machine.id == at_actor.machine.id)
      return base::fail(Fault::blocked,
                        fmt::format("{} is the same machine as {}, the remaining control-plane node",
                                    host.name, actor->name),
                        "specify another control-plane node; to remove the whole cluster: gpuadm reset");
    if (const auto node = TRY(cluster::node_of(host, facts, nodes.all, cluster.hosts))) {
      if (!parting.nodes.insert(*node).second)
        return base::fail(Fault::blocked, fmt::format("two of the hosts match the node {}", *node),
                          "remove them one at a time");
      parting.lines += fmt::format("{} {}\n", *node, facts ? "there" : "gone");
      parting.notes.emplace_back(host.name, fmt::format("is removed from the cluster (node {})", *node));
    }
    if (facts) {
      parting.leaving.hosts.push_back(host);
    } else {
      parting.gone.push_back(host.name);
      fleet.remove(host.name);
    }
  }
  return parting;
}

Result<plan::Plan> forget(const RemoveOptions& options, const Parting& parting, const assets::Store& assets) {
  const playbook::Library library = TRY(playbook::Library::load(assets, "remove"));
  const plan::Choice choice{{},
                            {},
                            {},
                            {{"leaving", parting.lines},
                             {"drain_timeout", std::to_string(options.drain_timeout)},
                             {"drain_force", options.force ? "yes" : "no"}}};
  spec::Cluster cluster = parting.cluster;
  cluster.kubernetes = {};
  plan::Plan plan = TRY(plan::make(cluster, {}, parting.census, library, nullptr, choice));
  plan.prelude += TRY(assets.read("playbooks/undo.sh"));
  return plan;
}

/// Workloads on the nodes to remove, as the acting control-plane node lists them.
Result<> check_workloads(const RemoveOptions& options, const Parting& parting, const assets::Store& assets,
                         const session::RunContext& session, report::Reporter& reporter) {
  if (parting.nodes.empty()) return {};
  const RunningWorkloads running = TRY(running_workloads(
      {parting.cluster.hosts.front().name},
      std::vector<std::string>(parting.nodes.begin(), parting.nodes.end()), *session.fleet, assets));
  for (const std::string& line : running.lines) notify(reporter, report::Did::note, "", line + " ends");
  for (const std::string& line : running.unread)
    notify(reporter, report::Did::note, "", "whether workloads run is unknown: " + line);
  return refuse_to_strand(running, options.force || options.consent == Consent::preview);
}

Result<Outcome> carry_out(const RemoveOptions& options, const Parting& parting, Teardown& hosts_teardown,
                          const assets::Store& assets, const session::RunContext& session,
                          report::Reporter& reporter, Io& io) {
  TRY(check_workloads(options, parting, assets, session, reporter));
  const plan::Plan first = TRY(forget(options, parting, assets));
  const auto whole = [&](const std::set<std::string>& lost) -> Result<plan::Plan> {
    plan::Plan plan = first;
    for (plan::Stage& stage : TRY(hosts_teardown.plan(lost)).stages) plan.stages.push_back(std::move(stage));
    return plan;
  };
  plan::Plan steps = TRY(whole({}));
  session::Execution execution{assets, std::move(steps), hosts_teardown.hosts(), options.consent,
                               [&](const session::Unread& unread) { return whole(unread.lost); }};
  for (const spec::Host& host : parting.cluster.hosts) execution.hosts.push_back(host.name);
  report_kept(reporter, hosts_teardown.undo_plans());
  for (const auto& [host, note] : parting.notes) notify(reporter, report::Did::note, host, note);
  for (const std::string& host : parting.gone)
    notify(reporter, report::Did::note, host,
           "is unreachable: its node is removed, and the host is not changed");
  if (parting.undo_plans_left)
    session::notify(reporter, report::Did::note,
                    "the remaining nodes keep their routes to the removed ones; to delete them: gpuadm apply "
                    "-f cluster.yaml, with a file "
                    "that has only the remaining hosts");
  const Outcome outcome = TRY(session::execute(execution, session, reporter, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return report_kept(reporter, hosts_teardown.undo_plans()) ? Outcome::failed : outcome;
}

/// Removes hosts from their cluster: drains them, removes their etcd members, deletes the nodes; then
/// restores the hosts, as reset does. With `force`, also removes the nodes of unreachable hosts.
Result<Outcome> remove(const RemoveOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(cluster_of(options));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session::take_census(*session.fleet, assets));
  TRY(session.folder.save("facts.json", session::to_tree(survey.census)));
  const Parting parting = TRY(part(options, cluster, survey, *session.fleet, assets));
  Teardown hosts_teardown =
      TRY(Teardown::of(parting.leaving, {options.force, options.keep_images, options.keep_driver, true},
                       assets, *session.fleet));
  const Outcome outcome =
      TRY(session::with_reporter(session.folder, options.format, io, [&](report::Reporter& reporter) {
        return carry_out(options, parting, hosts_teardown, assets, session, reporter, io);
      }));
  std::vector<std::string> changed;
  for (const auto& [host, way] : hosts_teardown.undo_plans())
    if (!way.stages.empty()) changed.push_back(host);
  if (outcome == Outcome::done && options.consent != Consent::preview && options.format == Format::text &&
      !changed.empty())
    io.out(restored(changed, "gpuadm changed " + std::string(changed.size() == 1 ? "it" : "them")));
  return outcome;
}

}  // namespace

Command remove_command() {
  return CommandRow<RemoveOptions>{
      .name = "remove",
      .group = Group::undo,
      .summary = "Drain and remove nodes, and restore the hosts",
      .options =
          [](Line& line, RemoveOptions& options) {
            add_hosts(line, options.hosts, "");
            add_connection(line, options.common);
            line.value("--to", options.to, "HOST",
                       "Remaining control-plane node, if no cluster file is given");
            line.flag("--force", options.force,
                      "Also remove unreachable hosts, workloads that run or cannot be read, and pods "
                      "without a controller, and restore what was changed by others since");
            line.value("--drain-timeout", options.drain_timeout, "SECONDS",
                       "Time limit for draining a node (default 300)")
                .range(1, 3600);
            line.flag("--keep-images", options.keep_images, "Keep the cluster's container images");
            line.flag("--keep-driver", options.keep_driver, "Keep the NVIDIA driver that gpuadm installed");
            add_consent(line, options.consent);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm remove gpu1 -f cluster.yaml", "drain, remove and restore"}},
      .run = remove};
}

}  // namespace commands
