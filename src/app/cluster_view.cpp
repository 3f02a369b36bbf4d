#include "app/cluster_view.hpp"

#include <fmt/format.h>

namespace app {
namespace {

using base::Fault;

constexpr std::chrono::seconds view_timeout{300};  // every command in it has its own, shorter one

Result<facts::ClusterFacts> view(const std::string& host, transport::Fleet& fleet,
                                 const assets::Store& assets) {
  fleet.submit(host, {.label = "read the cluster",
                      .script = TRY(assets.read("playbooks/cluster.sh")),
                      .timeout = view_timeout});
  const auto completion = fleet.next();
  if (!completion || fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted while the cluster was read");
  if (!completion->result) return std::unexpected(completion->result.error());
  auto facts = facts::parse_cluster(completion->result->out);
  if (!facts)
    return base::fail(facts.error().fault, fmt::format("{}: {}", host, facts.error().what),
                      facts.error().hint);
  return facts;
}

}  // namespace

Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                     const facts::Census& census, transport::Fleet& fleet,
                                                     const assets::Store& assets) {
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings = unreached_in(census);
  for (const spec::Host& host : cluster.hosts) {
    const auto place = census.find(host.name);
    if (place == census.end() || !place->second || !place->second->kubernetes.admin_conf) continue;
    const facts::ClusterFacts facts = TRY(view(host.name, fleet, assets));
    std::ranges::move(checks::examine_cluster(cluster, census, facts, *data), std::back_inserter(findings));
    return findings;
  }
  if (!findings.empty()) return findings;
  return base::fail(Fault::usage,
                    "none of these hosts is a control plane: there is no /etc/kubernetes/admin.conf",
                    "name a control plane of the cluster");
}

}  // namespace app
