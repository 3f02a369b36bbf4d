#include "commands/install/identity.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/adopted.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include <fmt/format.h>

#include <array>

namespace commands {

namespace {

using base::Fault;
using session::HostState;

constexpr const char* stored_file = "/etc/kubernetes/gpuadm/cluster.yaml";

/// The hosts in this state, in the order of the cluster.
std::vector<std::string> hosts_in(const spec::Cluster& cluster, const facts::Census& census,
                                  HostState state) {
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts != census.end() && facts->second && session::state_of(*facts->second) == state)
      hosts.push_back(host.name);
  }
  return hosts;
}

/// The worker's answer to which cluster it belongs to: its name, or the address of its API server.
std::string cluster_of_worker(const std::string& host, const facts::Facts& facts, transport::Fleet& fleet,
                              const assets::Store& assets) {
  const auto exit = session::ask(
      host, {.label = "read the cluster's name", .asset = "playbooks/read/cluster-name.sh"}, fleet, assets);
  if (exit && exit->status == 0 && !base::trim(exit->out).empty())
    return "cluster " + base::printable(base::trim(exit->out), 100);
  const std::string& server = facts.kubernetes.kubelet_server;
  return "the cluster " + (server.empty() ? "of unknown name" : "at " + base::printable(server, 200));
}

base::Error is_worker(const std::string& host, const std::string& cluster) {
  return {Fault::blocked,
          fmt::format("{} is a worker of {}: its settings are stored on the control plane", host, cluster),
          fmt::format("use -f with the cluster file, or name a control plane: gpuadm join {} --to "
                      "CONTROL-PLANE",
                      host)};
}

base::Error no_stored_file(const std::string& host) {
  return {Fault::blocked, fmt::format("{} has no stored cluster file: {} does not exist", host, stored_file),
          "create it with gpuadm adopt --record, or use a cluster file with all hosts: -f cluster.yaml"};
}

/// The settings of the stored cluster, for the hosts of the command line.
spec::Cluster with_stored(spec::Cluster stored, spec::Cluster asked) {
  stored.kubernetes.version = asked.kubernetes.version;  // the stored one may be older than an upgrade
  if (asked.kubernetes.source == spec::Source::bundle) stored.kubernetes.source = spec::Source::bundle;
  stored.hosts = std::move(asked.hosts);
  stored.ssh = std::move(asked.ssh);
  return stored;
}

/// "automatic" is decided once, by the number of hosts with which the cluster is created. Of a part of the
/// hosts it would mean something else.
void keep_schedulable(spec::Cluster& cluster, const std::optional<spec::Cluster>& stored) {
  if (cluster.control_plane.schedulable != spec::Schedulable::automatic) return;
  const auto is = stored ? stored->control_plane.schedulable : spec::Schedulable::automatic;
  cluster.control_plane.schedulable = is == spec::Schedulable::automatic ? spec::Schedulable::no : is;
}

}  // namespace

Result<std::optional<spec::Cluster>> find_stored_cluster(const std::string& host, transport::Fleet& fleet,
                                                         const assets::Store& assets) {
  const transport::Exit exit = TRY(session::ask(
      host, {.label = "read the cluster file", .asset = "playbooks/read/cluster-file.sh"}, fleet, assets));
  if (exit.status != 0)
    return base::fail(Fault::remote, fmt::format("{}: cannot read {}: {}", base::printable(host), stored_file,
                                                 base::printable(base::tail(exit.err, 1))));
  if (exit.out.empty()) return std::nullopt;
  spec::Cluster cluster = TRY(cluster::parse_intent(exit.out, host + ":" + stored_file));
  // A host must not decide which of the operator's files is read and sent. The login file of a proxy is
  // reported by those who need it.
  for (spec::Storage& storage : cluster.storage) storage.key_file.clear();
  cluster.hosts.clear();
  return cluster;
}

Result<spec::Cluster> read_stored_cluster(const std::string& host, transport::Fleet& fleet,
                                          const assets::Store& assets) {
  auto stored = TRY(find_stored_cluster(host, fleet, assets));
  if (stored) return std::move(*stored);
  return std::unexpected(no_stored_file(host));
}

Result<Identity> identify(spec::Cluster asked, const std::filesystem::path& file,
                          const session::Survey& survey, transport::Fleet& fleet, const assets::Store& assets,
                          Workers workers) {
  const auto planes = hosts_in(asked, survey.census, HostState::control_plane);
  if (planes.empty()) {
    const auto nodes = hosts_in(asked, survey.census, HostState::worker);
    if (!file.empty() || workers == Workers::accepted || nodes.empty())
      return Identity{std::move(asked), {}, false};
    const std::string& node = nodes.front();
    return std::unexpected(is_worker(node, cluster_of_worker(node, *survey.census.at(node), fleet, assets)));
  }
  Identity identity{std::move(asked), planes.front(), false};
  std::optional<spec::Cluster> stored;
  for (const std::string& plane : planes) {
    stored = TRY(find_stored_cluster(plane, fleet, assets));
    if (stored) identity.control_plane = plane;
    if (stored) break;
  }
  identity.is_stored = stored.has_value();
  if (!stored && file.empty() && workers == Workers::refused &&
      survey.census.at(identity.control_plane)->gpuadm_installed)
    return std::unexpected(no_stored_file(identity.control_plane));
  if (stored && !file.empty())
    TRY(require_same(*stored, identity.cluster, identity.control_plane, file.string()));
  if (stored && file.empty()) {
    // A host must not decide which of the operator's files is read and sent.
    if (!stored->proxy.login_file.empty() && workers == Workers::refused)
      return base::fail(
          Fault::usage,
          fmt::format("the proxy of cluster {} requires a login, and only your cluster file names the file "
                      "with it",
                      stored->name),
          "use -f with the cluster file");
    identity.cluster = with_stored(*stored, std::move(identity.cluster));
  }
  keep_schedulable(identity.cluster, stored);
  return identity;
}

spec::Cluster known_settings(const spec::Cluster& asked, const std::filesystem::path& file,
                             const session::Survey& survey, transport::Fleet& fleet,
                             const assets::Store& assets, const Io& io) {
  auto identity = identify(asked, file, survey, fleet, assets, Workers::accepted);
  if (identity) return std::move(identity->cluster);
  io.err(fmt::format("note: {}; the settings of {} are used\n", base::printable(identity.error().what, 500),
                     file.empty() ? "a default cluster" : base::printable(file.string())));
  return asked;
}

Result<> require_same(const spec::Cluster& stored, const spec::Cluster& asked, const std::string& host,
                      const std::string& file) {
  struct Key {
    const char* name;
    std::string is, asked;
  };
  const auto plugin = [](const spec::Cluster& cluster) {
    return std::string(spec::row_of(cluster.network.plugin).name);
  };
  const std::array keys = {
      Key{"name", stored.name, asked.name}, Key{"network.plugin", plugin(stored), plugin(asked)},
      Key{"network.podCIDR", stored.network.pod_cidr, asked.network.pod_cidr},
      Key{"network.serviceCIDR", stored.network.service_cidr, asked.network.service_cidr},
      Key{"network.dnsDomain", stored.network.dns_domain, asked.network.dns_domain}};
  std::vector<std::string> differ;
  for (const Key& key : keys)
    if (key.is != key.asked)
      differ.push_back(fmt::format("{} is {} there and {} in {}", key.name, base::printable(key.is, 100),
                                   base::printable(key.asked, 100), file));
  if (differ.empty()) return {};
  return base::fail(Fault::blocked,
                    fmt::format("{} is a control plane of cluster {}, and {} describes another cluster: {}",
                                host, base::printable(stored.name, 100), file, base::join(differ, "; ")),
                    fmt::format("correct {0}, or use the cluster file of cluster {1}; these settings cannot "
                                "change while the cluster exists (gpuadm reset deletes it)",
                                file, base::printable(stored.name, 100)));
}

Result<> require_version(const spec::Cluster& asked, const Identity& identity, const facts::Census& census,
                         const std::string& origin) {
  const auto& requested = asked.kubernetes.version;
  if (!requested || identity.control_plane.empty()) return {};
  const auto& kubelet = census.at(identity.control_plane)->kubernetes.kubelet;
  const auto runs = kubelet ? base::Version::parse(*kubelet) : std::nullopt;
  if (!runs || (requested->major == runs->major && requested->minor == runs->minor &&
                (requested->patch < 0 || requested->patch == runs->patch)))
    return {};
  return base::fail(
      Fault::blocked,
      fmt::format("{} runs cluster {} with Kubernetes {}, and {} requests {}", identity.control_plane,
                  base::printable(identity.cluster.name, 100), runs->text(), origin, requested->text()),
      *requested > *runs ? "`gpuadm upgrade` upgrades a cluster"
                         : fmt::format("a cluster cannot be downgraded: request {}", runs->text()));
}

}  // namespace commands
