#include "app/control_planes.hpp"

#include "gpuadm/base/text.hpp"

#include "app/cluster_view.hpp"

#include <fmt/format.h>

namespace app {

namespace {

constexpr std::chrono::seconds ask_timeout{60};

/// A host that was only named on the command line says nothing of itself.
spec::Cluster as_found(spec::Cluster cluster, const facts::Census& census) {
  cluster.kubernetes = {};
  for (spec::Host& host : cluster.hosts)
    host.role = is_control_plane(census, host.name) ? spec::Role::control_plane : spec::Role::worker;
  return cluster;
}

}  // namespace

Result<Outcome> on_control_planes(const Asked& asked, std::string_view playbook, Io& io,
                                  const std::function<Result<Outcome>(const Ground&)>& act) {
  const assets::Store assets = TRY(assets::Store::open(asked.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, playbook));
  const spec::Cluster named = TRY(read_cluster(asked.hosts, asked.common.connection));
  const Visit visit = TRY(Visit::open(named, asked.common.connection, asked.consent, io));
  const Seen seen = TRY(visit.see_all(assets));
  const spec::Cluster cluster = as_found(named, seen.census);
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts)
    if (host.role == spec::Role::control_plane) hosts.push_back(host.name);
  if (hosts.empty()) return std::unexpected(no_control_plane());
  return act({assets, library, cluster, seen, visit, hosts});
}

Result<std::string> ask(const Ground& ground, const std::string& host, const std::string& label,
                        const std::string& script) {
  transport::Fleet& fleet = *ground.visit.fleet;
  fleet.submit(
      host,
      {.label = label, .script = ground.library.prelude() + "\n" + script + "\n", .timeout = ask_timeout});
  const auto completion = fleet.next();
  if (!completion || fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted: " + label);
  if (!completion->result) return std::unexpected(completion->result.error());
  if (completion->result->status != 0)
    return base::fail(base::Fault::remote,
                      fmt::format("{}: {}", base::printable(host), base::tail(completion->result->err, 3)));
  return std::string(base::trim(completion->result->out));
}

Result<Outcome> conduct_one_by_one(const Ground& ground, const OneByOne& how, report::Reporter& reporter,
                                   Io& io) {
  plan::Plan plan;
  for (const std::string& host : how.hosts) {
    facts::Census census;
    census.emplace(host, ground.seen.census.at(host));
    plan::Plan one = TRY(plan::make(ground.cluster, census, ground.library, how.bundle, how.choice));
    plan.playbook = one.playbook;
    plan.prelude = one.prelude;
    plan.vital.insert(host);
    for (plan::Stage& stage : one.stages) plan.stages.push_back(std::move(stage));
  }
  return perform({ground.assets, std::move(plan), how.hosts, how.consent, {}}, ground.visit, reporter, io);
}

Result<Outcome> conduct_together(const Ground& ground, const OneByOne& how, report::Reporter& reporter,
                                 Io& io) {
  facts::Census census;
  for (const std::string& host : how.hosts) census.emplace(host, ground.seen.census.at(host));
  plan::Plan plan = TRY(plan::make(ground.cluster, census, ground.library, how.bundle, how.choice));
  plan.vital.insert(how.hosts.begin(), how.hosts.end());
  return perform({ground.assets, std::move(plan), how.hosts, how.consent, {}}, ground.visit, reporter, io);
}

}  // namespace app
