#include "gpuadm/app/cluster.hpp"
#include "gpuadm/base/network.hpp"
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
  spec::Cluster cluster;  ///< the control plane that acts, first; and nodes that have ways to the others
  spec::Cluster leaving;  ///< hosts that leave and can be reached
  std::vector<std::string> gone;  ///< hosts that leave and cannot
  std::string lines;              ///< of each node that leaves, for playbooks/remove.sh
  bool ways_left = false;         ///< nodes that stay and are not named here have routes to those that leave
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

/// A node as the control plane that acts has it.
struct Known {
  std::string name, machine_id;
  std::vector<std::string> addresses;
};

std::vector<std::string> texts(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

/// All nodes, and whether routes on each of them join their pods.
struct Nodes {
  std::vector<Known> all;
  bool routed = false;
};

Result<Nodes> nodes_of(const std::string& host, transport::Fleet& fleet) {
  fleet.submit(
      host, {.label = "read the cluster's nodes",
             .script = "PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin\n[ ! -f "
                       "/etc/systemd/system/gpuadm-pod-routes.service ] || echo routed\nkubectl --kubeconfig "
                       "/etc/kubernetes/admin.conf --request-timeout=20s get nodes -o 'jsonpath={range "
                       ".items[*]}{.metadata.name}{\"|\"}{.status.nodeInfo.machineID}{\"|\"}"
                       "{.status.addresses[*].address}{\"\\n\"}{end}'"});
  const auto completion = fleet.next();
  if (!completion || fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted while the cluster's nodes were read");
  if (!completion->result) return std::unexpected(completion->result.error());
  if (completion->result->status != 0)
    return base::fail(Fault::remote,
                      fmt::format("{}: the API server does not say which nodes there are: {}", host,
                                  base::printable(base::tail(completion->result->err, 3))),
                      "gpuadm doctor --stage cluster");
  Nodes nodes;
  for (const std::string_view line : base::lines(completion->result->out)) {
    const auto parts = base::split(line, '|');
    nodes.routed = nodes.routed || line == "routed";
    if (parts.size() == 3 && base::is_dns_name(parts[0]))
      nodes.all.push_back({std::string(parts[0]), std::string(parts[1]), texts(base::words(parts[2]))});
  }
  return nodes;
}

/// The node of a host that leaves: one that answered is known by its machine, one that is gone by its name or
/// address. Nothing: it is no node any more. Fault::blocked where that cannot be told.
Result<std::optional<std::string>> node_of(const spec::Host& host, const Result<facts::Facts>& facts,
                                           const std::vector<Known>& nodes) {
  std::vector<std::string> found;
  for (const Known& node : nodes) {
    const bool same =
        facts ? !facts->machine_id.empty() && node.machine_id == facts->machine_id
              : node.name == base::lower(host.name) ||
                    std::ranges::find(node.addresses, host.endpoint.address) != node.addresses.end();
    if (same) found.push_back(node.name);
  }
  if (found.size() > 1)
    return base::fail(
        Fault::blocked, fmt::format("{} may be any of these nodes: {}", host.name, base::join(found, ", ")),
        "give each machine an id of its own (gpuadm explain host.identity.unique-machine-id), or a "
        "name and an address that are one node's");
  if (found.empty() && !facts)
    return base::fail(
        Fault::blocked,
        fmt::format("the cluster knows no node named {} and none at {}", host.name, host.endpoint.address),
        "kubectl get nodes -o wide says what it is called: name the host so in the cluster file");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

/// The control plane that acts: the first that stays, was reached, and is one.
const spec::Host* acting(const spec::Cluster& cluster, const Seen& seen,
                         const std::vector<std::string>& leaving) {
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = seen.census.at(host.name);
    if (facts && facts->kubernetes.admin_conf && std::ranges::find(leaving, host.name) == leaving.end())
      return &host;
  }
  return nullptr;
}

Result<Parting> part(const RemoveOptions& options, const spec::Cluster& cluster, const Seen& seen,
                     transport::Fleet& fleet) {
  Parting parting{cluster, cluster, {}, {}, {}};
  parting.cluster.hosts.clear();
  parting.leaving.hosts.clear();
  const std::vector<std::string> names = names_of(options, cluster);
  for (const std::string& name : names)
    if (const auto& facts = seen.census.at(name); !facts && !options.force)
      return base::fail(facts.error().fault, facts.error().what,
                        "--force lets the cluster forget a host that is gone for good");
  const spec::Host* actor = acting(cluster, seen, names);
  if (!actor)
    return base::fail(Fault::blocked, "no control plane that stays was reached",
                      "gpuadm reset takes a whole cluster down");
  const facts::Facts& at_actor = *seen.census.at(actor->name);
  parting.cluster.hosts.push_back(*actor);
  parting.cluster.hosts.back().role = spec::Role::control_plane;
  parting.census.emplace(actor->name, at_actor);
  const Nodes nodes = TRY(nodes_of(actor->name, fleet));
  if (nodes.routed && options.hosts.file.empty()) {
    parting.cluster.network.plugin = spec::NetworkPlugin::bridge;
    parting.ways_left = nodes.all.size() > names.size() + 1;
  }
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = seen.census.at(host.name);
    const bool leaves = std::ranges::find(names, host.name) != names.end();
    if (!leaves && host.name != actor->name) {
      // Flannel's nodes learn by themselves who has gone.
      const bool has_ways = cluster.network.plugin == spec::NetworkPlugin::bridge &&
                            !options.hosts.file.empty() && facts && playbook::is_node(*facts);
      if (has_ways) {
        parting.cluster.hosts.push_back(host);
        parting.census.emplace(host.name, *facts);
      } else {
        fleet.remove(host.name);
      }
    }
    if (!leaves) continue;
    if (facts && !facts->machine_id.empty() && facts->machine_id == at_actor.machine_id)
      return base::fail(
          Fault::blocked,
          fmt::format("{} is the machine of {}, the control plane that stays", host.name, actor->name),
          "name another control plane; gpuadm reset takes a whole cluster down");
    if (const auto node = TRY(node_of(host, facts, nodes.all)))
      parting.lines += fmt::format("{} {}\n", *node, facts ? "there" : "gone");
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
  for (const spec::Host& host : parting.cluster.hosts) performance.hosts.push_back(host.name);
  tell_kept(reporter, way.ways());
  for (const std::string& host : parting.gone)
    tell(reporter, report::Did::note, host,
         "cannot be reached: the cluster forgets it, and it stays as it is");
  if (parting.ways_left)
    tell(reporter, report::Did::note,
         "the nodes that stay keep their ways to those that leave: gpuadm apply -f cluster.yaml, with a file "
         "that names only who stays, takes them away");
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
