#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/operate/health/program.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

using cluster::HealthOnHost;
using cluster::HealthRow;

/// Every host at the same time.
Result<std::vector<HealthRow>> read_health(const spec::Cluster& cluster, transport::Fleet& fleet,
                                           const assets::Store& assets, Io& io) {
  for (const spec::Host& host : cluster.hosts)
    fleet.submit(host.name, TRY(session::command_of({.label = "read the health",
                                                     .asset = "playbooks/read/health.sh",
                                                     .variables = {{"what", "status"}}},
                                                    assets)));
  std::map<std::string, HealthOnHost> answers;
  while (const auto completion = fleet.next()) {
    if (!completion->result) io.err(base::printable(completion->result.error().what) + "\n");
    HealthOnHost on = cluster::read_health_status(
        completion->host, completion->result ? completion->result->out : std::string());
    on.reached = completion->result.has_value();
    answers[completion->host] = std::move(on);
  }
  if (fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while reading the health");
  std::vector<HealthRow> rows;
  for (const spec::Host& host : cluster.hosts) rows.push_back({answers[host.name], {}, std::nullopt});
  return rows;
}

/// Adds conditions and taints of the Node objects. Without an API server, what the hosts know is shown.
Result<> read_node_objects(std::vector<HealthRow>& rows, const spec::Cluster& cluster,
                           transport::Fleet& fleet, const assets::Store& assets, Io& io) {
  auto client = session::ClusterClient::open(cluster, fleet, assets);
  if (!client) {
    io.err("conditions and taints are not shown: " + base::printable(client.error().what) + "\n");
    return {};
  }
  const auto nodes = client->get({{"nodes"}, {}, {}});
  if (!nodes && nodes.error().fault == base::Fault::interrupted) return std::unexpected(nodes.error());
  if (!nodes) io.err(base::printable(nodes.error().what) + "\n");
  for (HealthRow& row : rows)
    if (const auto node = nodes ? std::ranges::find(*nodes, row.on.node,
                                                    [](const base::Tree& one) {
                                                      return text_at(one, {"metadata", "name"});
                                                    })
                                : std::vector<base::Tree>::const_iterator();
        nodes && node != nodes->end()) {
      row.conditions = cluster::conditions_of_node(*node);
      row.tainted = cluster::has_health_taint(*node);
    }
  return {};
}

/// Prints the last run, the conditions and the taint of every node. Outcome::failed if a node is unhealthy,
/// or does not check itself. Changes nothing.
Result<Outcome> health_status(const HealthOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  auto rows = TRY(read_health(cluster, *fleet, assets, io));
  const bool none_reached = std::ranges::none_of(rows, [](const HealthRow& row) { return row.on.reached; });
  if (!none_reached) TRY(read_node_objects(rows, cluster, *fleet, assets, io));
  if (options.format == Format::json)
    io.out(base::json::write(cluster::to_tree(rows)) + "\n");
  else
    io.out(cluster::health_table(rows, io.out_style.width));
  if (none_reached) return Outcome::unreachable;
  return cluster::health_verdict(rows).health() == cluster::Health::well ? Outcome::done : Outcome::failed;
}

}  // namespace

Command health_status_command() {
  return CommandRow<HealthOptions>{
      .name = "health status",
      .group = Group::operate,
      .summary = "Show the last run, conditions and taint of every node",
      .options =
          [](Line& line, HealthOptions& options) {
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm health status -f cluster.yaml", "last run, conditions, taint"}},
      .run = health_status};
}

}  // namespace commands
