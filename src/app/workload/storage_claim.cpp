#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include "app/workload/storage_common.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

namespace {

using base::Fault;
using base::Tree;

/// Where the folder is made: on the control-plane node, or on the host of a local storage.
Result<std::string> host_with(const spec::Storage& storage, const spec::Cluster& cluster,
                              const session::ClusterClient& client) {
  if (storage.kind != spec::StorageKind::local) return client.host();
  if (std::ranges::find(cluster.hosts, storage.host, &spec::Host::name) != cluster.hosts.end())
    return storage.host;
  return base::fail(Fault::usage,
                    fmt::format("the storage {} is on the host {}, which is not among the hosts",
                                storage.name, base::printable(storage.host)),
                    "name it too, after the control-plane node, or use -f FILE");
}

/// The node with local storage, for the volume's affinity; empty for storage of all hosts.
Result<std::string> node_with(const spec::Storage& storage, const spec::Cluster& cluster,
                              session::ClusterClient& client) {
  if (storage.kind != spec::StorageKind::local) return std::string();
  const auto host = std::ranges::find(cluster.hosts, storage.host, &spec::Host::name);
  if (host != cluster.hosts.end())
    if (const auto node = workload::node_label_of(*host, TRY(client.get({{"nodes"}, {}, {}})))) return *node;
  return base::fail(Fault::blocked,
                    fmt::format("the cluster has no node with the name or an address of the host {}",
                                base::printable(storage.host)),
                    "kubectl get nodes -o wide lists them");
}

base::Variables variables_of(const std::string& action, const spec::Storage& storage,
                             const workload::StorageClaim& claim) {
  return {{"action", action},   {"marker", spec::marker_of(storage)}, {"space", claim.space},
          {"name", claim.name}, {"mode", workload::mode_of(claim)},   {"owner", claim.owner}};
}

struct Folder {
  bool existed = false;
  std::optional<long long> free;
};

Result<transport::Exit> run(const std::string& action, const std::string& host, const spec::Storage& storage,
                            const workload::StorageClaim& claim, transport::Fleet& fleet,
                            const assets::Store& assets) {
  transport::Command command = TRY(session::command_of({.label = action + " the folder of the claim",
                                                        .asset = "playbooks/storage-claim.sh",
                                                        .variables = variables_of(action, storage, claim),
                                                        .timeout = std::chrono::seconds(120)},
                                                       assets));
  command.effect = transport::Effect::changes;
  if (action == "drop") command.purpose = transport::Purpose::clean_up;
  return session::ask(host, std::move(command), fleet);
}

Result<Folder> make_folder(const std::string& host, const spec::Storage& storage,
                           const workload::StorageClaim& claim, transport::Fleet& fleet,
                           const assets::Store& assets) {
  const transport::Exit exit = TRY(run("make", host, storage, claim, fleet, assets));
  const auto words = base::words(exit.out);
  if (exit.status != 0 || words.empty())
    return base::fail(Fault::remote, fmt::format("{}: {}", host, base::tail(exit.err, 3)),
                      "gpuadm storage list shows where the storage is mounted");
  return Folder{words[0] == "existing", words.size() > 1 ? base::to_int(words[1]) : std::nullopt};
}

/// A claim of that name, whatever made it.
Result<> is_new(session::ClusterClient& client, const workload::StorageClaim& claim) {
  for (const Tree& object : TRY(client.get({{"persistentvolumeclaims"}, claim.space, {}})))
    if (const Tree* name = object.at({"metadata", "name"}); name && name->text() == claim.name)
      return base::fail(Fault::usage,
                        fmt::format("the namespace {} already has a claim named {}", claim.space, claim.name),
                        fmt::format("choose another name, or delete it: kubectl -n {} delete pvc {}",
                                    claim.space, claim.name));
  return {};
}

/// A volume that remained when its claim was deleted would be in the way; its files stay.
Result<> drop_old_volume(session::ClusterClient& client, const spec::Storage& storage,
                         const workload::StorageClaim& claim) {
  const std::string selector =
      fmt::format("{},{}={}", workload::selector_of(workload::storage_claim_kind, claim.name),
                  workload::storage_label, storage.name);
  for (const Tree& object : TRY(client.get({{"persistentvolumes"}, {}, selector}))) {
    const Tree* name = object.at({"metadata", "name"});
    const Tree* phase = object.at({"status", "phase"});
    if (!name || name->text() != workload::volume_of(storage, claim) || !phase || phase->text() == "Bound")
      continue;
    // The labels are those of claims of this name in every namespace.
    TRY(client.patch(
        {}, "persistentvolume/" + name->text(),
        Tree::map_of(
            {{"metadata", Tree::map_of({{"labels", Tree::map_of({{"gpuadm.io/replaced", "yes"}})}})}})));
    TRY(client.remove("default", {"persistentvolumes"}, selector + ",gpuadm.io/replaced=yes"));
  }
  return {};
}

void show(const StorageClaimOptions& options, const spec::Storage& storage,
          const workload::StorageClaim& claim, const Folder& folder, Io& io) {
  if (options.format == Format::json) {
    io.out(base::json::write(Tree::map_of({{"name", claim.name},
                                           {"namespace", claim.space},
                                           {"storage", storage.name},
                                           {"volume", workload::volume_of(storage, claim)},
                                           {"folder", workload::folder_of(storage, claim)},
                                           {"existed", folder.existed}})) +
           "\n");
  } else {
    io.out(fmt::format("claim {} in namespace {}: {} on storage {}\n", claim.name, claim.space, claim.size,
                       storage.name));
    io.out(fmt::format("  folder: {}\n", workload::folder_of(storage, claim)));
    io.out(fmt::format(
        "  in a pod: volumes: [{{ name: data, persistentVolumeClaim: {{ claimName: {} }} }}]\n", claim.name));
  }
  if (folder.existed) io.err("the folder has existed before: its files, owner and mode are unchanged\n");
  const auto wanted = workload::bytes_of("--size", claim.size);
  if (folder.free && wanted && *folder.free < *wanted)
    io.err(fmt::format("the storage has {} free, less than {}\n",
                       base::human_bytes(static_cast<unsigned long long>(*folder.free)), claim.size));
}

}  // namespace

Result<Outcome> storage_claim(const StorageClaimOptions& options, Io& io) {
  const workload::StorageClaim claim{options.name, options.space, options.size, options.owner};
  TRY(workload::check_claim(claim));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster hosts = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(hosts, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::full);
  session::ClusterClient client = TRY(session::ClusterClient::open(hosts, *fleet, assets));
  const spec::Cluster cluster =
      TRY(read_storages(options.hosts, hosts, client.host(), *fleet, assets)).cluster;
  const spec::Storage storage = TRY(storage_named(cluster, options.storage));
  const std::string host = TRY(host_with(storage, cluster, client));
  const std::string node = TRY(node_with(storage, cluster, client));
  TRY(is_new(client, claim));
  const Folder folder = TRY(make_folder(host, storage, claim, *fleet, assets));
  Result<> made = drop_old_volume(client, storage, claim);
  if (made) {
    const auto created = client.create(claim.space, workload::objects_of(storage, claim, node));
    if (!created) made = std::unexpected(created.error());
  }
  if (!made) {
    // Nothing half-made is left; a folder with files stays.
    if (!folder.existed) (void)run("drop", host, storage, claim, *fleet, assets);
    return std::unexpected(made.error());
  }
  show(options, storage, claim, folder, io);
  return Outcome::done;
}

}  // namespace app
