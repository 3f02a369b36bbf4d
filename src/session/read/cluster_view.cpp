#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {
namespace {

using base::Fault;

constexpr std::chrono::seconds server_timeout{180};  // for an API server that is starting

}  // namespace

spec::Cluster fitted(spec::Cluster cluster, const facts::Census& census, const facts::ClusterFacts& facts) {
  for (spec::Host& host : cluster.hosts)
    host.role = facts::is_control_plane(census, host.name) ? spec::Role::control_plane : spec::Role::worker;
  const auto runs = [&](std::string_view engine) {
    return facts.nodes && std::ranges::any_of(*facts.nodes, [&](const facts::Node& node) {
             return node.runtime.starts_with(engine);
           });
  };
  if (runs("docker:")) cluster.runtime.engine = spec::Engine::docker;
  if (runs("containerd:")) cluster.runtime.engine = spec::Engine::containerd;
  return cluster;
}

base::Error no_control_plane(const facts::Census& census) {
  const std::string none = "none of these hosts is a control-plane node: no /etc/kubernetes/admin.conf";
  const bool are_nodes = std::ranges::any_of(
      census, [](const auto& host) { return host.second && host.second->kubernetes.kubelet_conf; });
  if (are_nodes) return {Fault::usage, none, "specify a control-plane node of the cluster"};
  return {Fault::usage, (census.empty() ? "no cluster yet, or only workers: " : "no cluster yet: ") + none,
          "gpuadm init; or specify a control-plane node of the cluster"};
}

Result<> has_control_plane(const spec::Cluster& cluster, const facts::Census& census) {
  if (std::ranges::any_of(cluster.hosts,
                          [&](const spec::Host& host) { return facts::is_control_plane(census, host.name); }))
    return {};
  return std::unexpected(no_control_plane(census));
}

Result<transport::Command> view_command(const assets::Store& assets) {
  return command_of(
      {.label = "read the cluster", .asset = "playbooks/cluster.sh", .timeout = view_timeout, .api = true},
      assets);
}

Result<std::optional<std::string>> view_cluster(const spec::Cluster& cluster, const facts::Census& census,
                                                transport::Fleet& fleet, const assets::Store& assets,
                                                std::chrono::seconds timeout, const std::string& purpose) {
  transport::Command command = TRY(view_command(assets));
  if (!purpose.empty()) command.script = base::assignments({{"purpose", purpose}}) + command.script.text();
  command.timeout = timeout;
  std::vector<base::Error> errors;
  for (const spec::Host& host : cluster.hosts) {
    if (!facts::is_control_plane(census, host.name)) continue;
    fleet.submit(host.name, command);
    auto completion = fleet.next();
    if (!completion || fleet.interrupted())
      return base::fail(Fault::interrupted, "interrupted while reading the cluster");
    if (completion->result) return std::move(completion->result->out);
    errors.push_back(std::move(completion->result).error());
  }
  if (!errors.empty()) return std::unexpected(base::joined(errors));
  if (!unreached_in(census).empty()) return std::nullopt;
  return std::unexpected(no_control_plane(census));
}

Result<facts::ClusterFacts> read_cluster_with_retry(const spec::Cluster& cluster, const facts::Census& census,
                                                    transport::Fleet& fleet, const assets::Store& assets,
                                                    Io& io, const std::string& purpose) {
  const auto until = base::Clock::now() + server_timeout;
  bool reported = false;
  while (true) {
    const auto view = TRY(view_cluster(cluster, census, fleet, assets, view_timeout, purpose));
    if (!view) return std::unexpected(all_read(census).error());
    facts::ClusterFacts facts = TRY(facts::parse_cluster(*view));
    if ((facts.nodes && facts.pods && !facts.version.empty()) || base::Clock::now() >= until) return facts;
    if (!reported) io.err(fmt::format("waiting for the API server (at most {}s)\n", server_timeout.count()));
    reported = true;
    (void)fleet.next_until(base::Clock::now() + std::chrono::seconds(2));
    if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted while reading the cluster");
  }
}

Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                     const facts::Census& census,
                                                     const std::optional<std::string>& view,
                                                     const assets::Store& assets) {
  std::vector<report::Finding> findings = unreached_in(census);
  if (!view) return findings;
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  const facts::ClusterFacts facts = TRY(facts::parse_cluster(*view));
  std::ranges::move(checks::examine_cluster(cluster, census, facts, *data), std::back_inserter(findings));
  return findings;
}

}  // namespace session
