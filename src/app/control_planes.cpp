#include "app/control_planes.hpp"

#include "app/cluster_view.hpp"

namespace app {

spec::Cluster as_found(spec::Cluster cluster, const facts::Census& census) {
  cluster.kubernetes = {};
  for (spec::Host& host : cluster.hosts)
    host.role = is_control_plane(census, host.name) ? spec::Role::control_plane : spec::Role::worker;
  return cluster;
}

Result<std::vector<std::string>> control_planes(const spec::Cluster& cluster, const facts::Census& census) {
  std::vector<std::string> names;
  for (const spec::Host& host : cluster.hosts)
    if (is_control_plane(census, host.name)) names.push_back(host.name);
  if (names.empty()) return std::unexpected(no_control_plane());
  return names;
}

Result<Outcome> conduct_one_by_one(const OneByOne& what, const Seen& seen,
                                   const std::vector<std::string>& hosts, const Visit& visit,
                                   report::Reporter& reporter, Io& io) {
  plan::Plan plan;
  for (const std::string& host : hosts) {
    facts::Census census;
    census.emplace(host, seen.census.at(host));
    plan::Plan one = TRY(plan::make(what.cluster, census, what.library, what.bundle, what.choice));
    plan.playbook = one.playbook;
    plan.prelude = one.prelude;
    for (plan::Stage& stage : one.stages) plan.stages.push_back(std::move(stage));
  }
  return perform({what.assets, std::move(plan), hosts, what.consent, {}}, visit, reporter, io);
}

}  // namespace app
