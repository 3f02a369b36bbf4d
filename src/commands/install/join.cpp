#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/install/bring_up.hpp"
#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace commands {

namespace {

struct JoinOptions {
  InitOptions init;             ///< its targets are the hosts that join
  std::string to;               ///< a control-plane node, if no file is given: [user@]host[:port]
  std::string role = "worker";  ///< or control-plane; without a file
};

using base::Fault;

bool is_node(const facts::Census& census, const std::string& host) {
  const auto facts = census.find(host);
  return facts != census.end() && facts->second && playbook::is_node(*facts->second);
}

/// Waits until the API server responds to the joining hosts; it may have just been started.
Result<> answers(const std::string& host, transport::Fleet& fleet, const assets::Store& assets) {
  const transport::Exit exit = TRY(session::ask(host,
                                                {.label = "check whether the API server is ready",
                                                 .asset = "playbooks/read/api-ready.sh",
                                                 .timeout = std::chrono::seconds(90)},
                                                fleet, assets));
  if (exit.status == 0) return {};
  return base::fail(
      Fault::blocked,
      fmt::format("{}: the API server does not answer: {}", host, base::printable(base::tail(exit.err, 1))),
      fmt::format("gpuadm doctor {} --stage cluster", host));
}

/// The joining hosts, and of the others those that are nodes and reachable.
Result<spec::Cluster> resolve_hosts(const std::vector<std::string>& targets, const spec::Cluster& all,
                                    session::Survey& survey, transport::Fleet& fleet,
                                    const assets::Store& assets, Io& io) {
  const auto is_joining = [&](const std::string& host) {
    return std::ranges::find(targets, host) != targets.end();
  };
  TRY(session::all_read(survey.census, is_joining));
  std::vector<std::string> away;
  std::set<std::string> others;
  for (const auto& [host, facts] : survey.census) {
    if (!facts) away.push_back(host);
    if (!facts) io.err(fmt::format("not used: {}\n", base::printable(facts.error().what)));
    if (!facts || (!is_joining(host) && !is_node(survey.census, host))) others.insert(host);
  }
  spec::Cluster cluster = without(all, others, survey, fleet);
  const spec::Host* first = playbook::first_control_plane(cluster, survey.census);
  if ((!first || !is_node(survey.census, first->name)) && !away.empty())
    return base::fail(
        Fault::blocked, "no control-plane node of the cluster is reachable",
        fmt::format("gpuadm doctor {}; join again when it is reachable", base::join(away, " ")));
  if (!first || !is_node(survey.census, first->name))
    return base::fail(Fault::blocked, "no cluster to join: no control-plane node was found",
                      "create it with gpuadm init, or with gpuadm apply -f FILE");
  TRY(answers(first->name, fleet, assets));
  return cluster;
}

/// Whether hosts can join with nothing but the cluster file that the control plane stores.
Result<> joins_without_file(const std::string& control_plane, transport::Fleet& fleet,
                            const assets::Store& assets) {
  const spec::Cluster stored = TRY(read_stored_cluster(control_plane, fleet, assets));
  if (stored.network.plugin != spec::NetworkPlugin::bridge) return {};
  return base::fail(Fault::blocked, "this cluster connects pods by routes on every node",
                    "use a cluster file with all hosts: gpuadm join HOST -f cluster.yaml");
}

Result<> usage(const JoinOptions& options) {
  const Hosts& hosts = options.init.hosts;
  if (options.init.list_phases) return {};
  if (hosts.targets.empty())
    return base::fail(Fault::usage, "no host to join is given",
                      "gpuadm join HOST… -f cluster.yaml, or gpuadm join HOST… --to CONTROL-PLANE");
  if (hosts.file.empty() == options.to.empty())
    return base::fail(Fault::usage, "either -f or --to is needed, and not both",
                      "gpuadm join HOST… -f cluster.yaml, or gpuadm join HOST… --to CONTROL-PLANE");
  return {};
}

Result<spec::Cluster> cluster_of(const JoinOptions& options) {
  const Connection& connection = options.init.common.connection;
  const Hosts& hosts = options.init.hosts;
  if (!hosts.file.empty()) {
    TRY(session::read_cluster(hosts, connection));  // reports the names that are not in the file
    return session::read_cluster({hosts.file, {}}, connection);
  }
  Hosts all{{}, {options.to}};
  all.targets.insert(all.targets.end(), hosts.targets.begin(), hosts.targets.end());
  spec::Cluster cluster = TRY(session::read_cluster(all, connection));
  for (spec::Host& host : cluster.hosts)
    host.role = options.role == "worker" ? spec::Role::worker : spec::Role::control_plane;
  cluster.hosts.front().role = spec::Role::control_plane;
  return cluster;
}

/// Joins hosts to an existing cluster. With a file, also updates what the other nodes know of each other.
Result<Outcome> join(const JoinOptions& options, Io& io) {
  TRY(usage(options));
  spec::Cluster cluster;
  if (!options.init.list_phases) {
    cluster = TRY(cluster_of(options));
    TRY(apply_options(options.init, cluster));
  }
  std::vector<std::string> targets = options.init.hosts.targets;
  if (options.init.hosts.file.empty()) {
    targets.clear();
    for (const spec::Host& host : cluster.hosts)
      if (host.name != cluster.hosts.front().name) targets.push_back(host.name);
  }
  const assets::Store assets = TRY(assets::Store::open(options.init.common.assets));
  const auto resolve = [&](const spec::Cluster& all, session::Survey& survey,
                           transport::Fleet& fleet) -> Result<spec::Cluster> {
    spec::Cluster hosts = TRY(resolve_hosts(targets, all, survey, fleet, assets, io));
    if (!options.to.empty()) TRY(joins_without_file(hosts.hosts.front().name, fleet, assets));
    return hosts;
  };
  return bring_up(options.init, {"join", std::move(cluster), resolve, Outcome::done, Existing::accepted}, io);
}

}  // namespace

Command join_command() {
  return CommandRow<JoinOptions>{
      .name = "join",
      .group = Group::install,
      .summary = "Add hosts to an existing cluster",
      .options =
          [](Line& line, JoinOptions& options) {
            add_hosts(line, options.init.hosts, "");
            add_connection(line, options.init.common);
            line.value("--to", options.to, "HOST",
                       "Control-plane node of the cluster, if no cluster file is given");
            line.value("--role", options.role, "worker|control-plane",
                       "Role of the new nodes, if no cluster file is given (default worker)")
                .one_of({"worker", "control-plane"});
            add_bring_up(line, options.init);
          },
      .examples = {{"gpuadm join gpu2 -f cluster.yaml", "after adding it to the cluster file"},
                   {"gpuadm join root@192.0.2.22 --to root@192.0.2.10", "without a cluster file"}},
      .run = join};
}

}  // namespace commands
