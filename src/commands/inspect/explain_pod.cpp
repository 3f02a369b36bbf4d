#include "commands/inspect/explain_pod.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;

/// Each command in the script has a shorter limit.
constexpr std::chrono::seconds timeout{180};

Result<transport::Command> pod_command(const kube::PodName& name, const assets::Store& assets) {
  transport::Command command = TRY(session::view_command(assets));
  command.label = "read the pod";
  command.timeout = timeout;
  command.script = base::assignments({{"purpose", "pod"}, {"pod_space", name.ns}, {"pod_name", name.name}}) +
                   TRY(assets.read("playbooks/read/pod.sh")) + "\n" + command.script.text();
  return command;
}

/// The hosts that may be control-plane nodes, those of the cluster file's role first.
std::vector<std::string> likely_planes(const spec::Cluster& cluster, const transport::Fleet& fleet) {
  std::vector<std::string> hosts, others;
  const std::vector<std::string> known = fleet.hosts();
  for (const spec::Host& host : cluster.hosts)
    if (std::ranges::find(known, host.name) != known.end())
      (host.role == spec::Role::control_plane ? hosts : others).push_back(host.name);
  hosts.insert(hosts.end(), others.begin(), others.end());
  return hosts;
}

/// The view of the first control-plane node whose API server lists the pods.
Result<kube::PodView> read_view(const spec::Cluster& cluster, const kube::PodName& name,
                                transport::Fleet& fleet, const assets::Store& assets) {
  std::optional<kube::PodView> silent;
  std::vector<base::Error> errors;
  for (const std::string& host : likely_planes(cluster, fleet)) {
    auto exit = session::ask(host, TRY(pod_command(name, assets)), fleet);
    if (!exit && exit.error().fault == Fault::interrupted) return std::unexpected(std::move(exit).error());
    auto view = exit ? kube::parse_pod_view(exit->out) : std::unexpected(exit.error());
    if (!view) {
      errors.push_back(std::move(view).error());
      continue;
    }
    if (view->uses) return std::move(*view);
    // Sections exist only on a host with an administrator's kubeconfig.
    if (view->cluster.ready_status && !silent) silent = std::move(*view);
  }
  if (silent) return std::move(*silent);
  return std::unexpected(errors.empty() ? session::no_control_plane() : base::joined(errors));
}

/// The host of a node: by its name, or by its address in the cluster file.
std::string host_of(const std::string& node, const facts::ClusterFacts& view, const spec::Cluster& cluster) {
  for (const spec::Host& host : cluster.hosts)
    if (host.name == node) return host.name;
  if (view.nodes)
    for (const facts::Node& one : *view.nodes)
      if (one.name == node && !one.address.empty())
        for (const spec::Host& host : cluster.hosts)
          if (host.endpoint.address == one.address || host.name == one.address) return host.name;
  // The only host of a single-node cluster is its node.
  return cluster.hosts.size() == 1 && view.nodes && view.nodes->size() == 1 ? cluster.hosts.front().name
                                                                            : std::string();
}

Result<facts::Facts> read_host(const std::string& host, transport::Fleet& fleet,
                               const assets::Store& assets) {
  const transport::Exit exit = TRY(session::ask(host, TRY(session::probe_command(assets)), fleet));
  return session::read_probe(host, exit, base::now());
}

}  // namespace

Result<kube::PodExplanation> explain_pod(const spec::Cluster& cluster, const kube::PodName& name,
                                         transport::Fleet& fleet, const assets::Store& assets) {
  const kube::PodView view = TRY(read_view(cluster, name, fleet, assets));
  kube::PodExplanation explanation = TRY(kube::explain(view, name));
  const std::string node = kube::node_to_inspect(explanation);
  const bool has_hosts = cluster.hosts.empty() || cluster.hosts.front().endpoint.kubeconfig.empty();
  const std::string host = node.empty() || !has_hosts ? "" : host_of(node, view.cluster, cluster);
  if (host.empty()) return explanation;
  // The explanation is complete without these facts, so that an unreachable host is not an error.
  const auto facts = read_host(host, fleet, assets);
  if (!facts && facts.error().fault == Fault::interrupted) return std::unexpected(facts.error());
  return facts ? kube::explain(view, name, {{node, &*facts}}) : explanation;
}

std::optional<PodReason> reason_of(const spec::Cluster& cluster, const kube::PodName& name,
                                   session::ClusterClient& client) {
  const auto explanation = explain_pod(cluster, name, client.fleet(), client.assets());
  if (!explanation || explanation->is_well()) return std::nullopt;
  constexpr std::size_t longest = 1000, most_lines = 8;
  return PodReason{base::printable(explanation->headline(), longest),
                   base::printable(explanation->first()->fix, longest), last_lines(*explanation, most_lines)};
}

std::string last_lines(const kube::PodExplanation& explanation, std::size_t most) {
  if (explanation.logs.empty()) return {};
  const kube::LogExcerpt& log = explanation.logs.front();
  std::string text = log.title();
  constexpr std::size_t longest = 300;
  for (const std::string& line : log.shown(most)) text += "\n    " + base::printable(line, longest);
  return text;
}

std::string explain_command(const kube::PodName& name, const session::Hosts& hosts,
                            const session::Connection& connection) {
  return fmt::format("gpuadm explain pod {}/{}{}", name.ns, name.name, session::typed(hosts, connection));
}

std::string with_details(const std::string& fix, const std::string& command) {
  return fix.empty() ? command : fmt::format("{}; details: {}", fix, command);
}

}  // namespace commands
