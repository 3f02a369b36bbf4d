#include "gpuadm/app/cluster.hpp"
#include "gpuadm/base/text.hpp"

#include "app/conduct.hpp"
#include "app/take_down.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

namespace {

using base::Fault;

/// Who leaves, who stays, and what each has said of itself.
struct Parting {
  spec::Cluster cluster;          ///< the control plane that acts alone
  spec::Cluster leaving;          ///< hosts that leave and can be reached
  std::vector<std::string> gone;  ///< hosts that leave and cannot
  std::string lines;              ///< of each host that leaves, for playbooks/remove.sh
  facts::Census census;
};

Result<spec::Cluster> cluster_of(const RemoveOptions& options) {
  if (options.hosts.targets.empty())
    return base::fail(Fault::usage, "which hosts shall leave?",
                      "gpuadm remove HOST… -f cluster.yaml, or gpuadm remove HOST… --to CONTROL-PLANE");
  if (options.hosts.file.empty() == options.to.empty())
    return base::fail(Fault::usage,
                      "the cluster is named by a file or by a control plane, and by one of them",
                      "gpuadm remove HOST… -f cluster.yaml, or gpuadm remove HOST… --to CONTROL-PLANE");
  if (!options.hosts.file.empty()) {
    TRY(read_cluster(options.hosts, options.common.connection));  // says which names the file does not have
    return read_cluster({options.hosts.file, {}}, options.common.connection);
  }
  Hosts all{{}, {options.to}};
  all.targets.insert(all.targets.end(), options.hosts.targets.begin(), options.hosts.targets.end());
  return read_cluster(all, options.common.connection);
}

/// The names of the hosts that leave, as the cluster has them.
std::vector<std::string> names_of(const RemoveOptions& options, const spec::Cluster& cluster) {
  if (!options.hosts.file.empty()) return options.hosts.targets;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < cluster.hosts.size(); ++i) names.push_back(cluster.hosts[i].name);
  return names;
}

Result<Parting> part(const RemoveOptions& options, const spec::Cluster& cluster, const Seen& seen,
                     transport::Fleet& fleet) {
  Parting parting{cluster, cluster, {}, {}, {}};
  parting.cluster.hosts.clear();
  parting.leaving.hosts.clear();
  const std::vector<std::string> names = names_of(options, cluster);
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = seen.census.at(host.name);
    const bool leaves = std::ranges::find(names, host.name) != names.end();
    if (leaves && !facts && !options.force)
      return base::fail(facts.error().fault, fmt::format("{}: {}", host.name, facts.error().what),
                        "--force lets the cluster forget a host that is gone for good");
    if (leaves)
      parting.lines +=
          fmt::format("{} {} {}\n", base::lower(facts ? facts->hostname : host.name),
                      facts ? facts->default_address : host.endpoint.address, facts ? "there" : "gone");
    if (leaves && facts) parting.leaving.hosts.push_back(host);
    if (leaves && !facts) parting.gone.push_back(host.name);
    const bool acts = !leaves && parting.cluster.hosts.empty() && facts && facts->kubernetes.admin_conf;
    if (acts) {
      parting.cluster.hosts.push_back(host);
      parting.cluster.hosts.back().role = spec::Role::control_plane;
      parting.census.emplace(host.name, *facts);
    }
    if (!acts && !(leaves && facts)) fleet.remove(host.name);
  }
  if (parting.cluster.hosts.empty())
    return base::fail(Fault::blocked, "no control plane that stays was reached",
                      "gpuadm reset takes a whole cluster down");
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
  plan::Plan plan = TRY(plan::make(cluster, parting.census, library, nullptr, choice));
  plan.prelude += TRY(assets.read("playbooks/undo.sh"));
  return plan;
}

Result<Outcome> carry_out(const RemoveOptions& options, const Parting& parting, TakeDown& way,
                          const assets::Store& assets, const Visit& visit, report::Reporter& reporter,
                          Io& io) {
  const plan::Plan first = TRY(forget(options, parting, assets));
  const auto whole = [&](const std::set<std::string>& lost) -> Result<plan::Plan> {
    plan::Plan plan = first;
    for (plan::Stage& stage : TRY(way.plan(lost)).stages) plan.stages.push_back(std::move(stage));
    return plan;
  };
  Performance performance{assets, TRY(whole({})), way.hosts(), options.consent, whole};
  performance.hosts.push_back(parting.cluster.hosts.front().name);
  tell_kept(reporter, way.ways());
  for (const std::string& host : parting.gone)
    tell(reporter, report::Did::note, host,
         "cannot be reached: the cluster forgets it, and it stays as it is");
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return tell_kept(reporter, way.ways()) ? Outcome::failed : outcome;
}

}  // namespace

Result<Outcome> remove(const RemoveOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(cluster_of(options));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  const Seen seen = TRY(take_census(*visit.fleet, assets));
  TRY(visit.folder.save("facts.json", to_tree(seen.census)));
  const Parting parting = TRY(part(options, cluster, seen, *visit.fleet));
  TakeDown way = TRY(TakeDown::of(parting.leaving, {options.force, options.keep_images, options.keep_driver},
                                  assets, *visit.fleet));
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return carry_out(options, parting, way, assets, visit, reporter, io);
  });
}

}  // namespace app
