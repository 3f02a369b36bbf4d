#include "commands/workloads/storage/claim.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/storage/claim_folders.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct StorageClaimOptions {
  Common common;
  Hosts hosts;
  std::string name, storage, size, ns = "default", owner;
  Format format = Format::text;
};

using base::Fault;
using base::Tree;

constexpr std::chrono::seconds usual_limit{120}, purge_limit{1800};

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

base::Variables claim_variables(const std::string& action, const spec::Storage& storage,
                                const workload::StorageClaim& claim) {
  return {{"action", action},
          {"storage_name", storage.name},
          {"storage_kind", spec::row_of(storage.kind).name},
          {"storage_place", spec::place_of(storage)},
          {"namespace", claim.ns},
          {"name", claim.name},
          {"mode", workload::mode_of(claim)},
          {"owner", claim.owner}};
}

/// `action`: make, drop (an empty folder), purge (with its files), class or class-drop of
/// playbooks/storage-claim.sh.
Result<transport::Exit> run(const std::string& action, const ClaimPlan& plan,
                            session::ClusterClient& client) {
  const auto& [storage, claim, host, node] = plan;
  transport::Command command =
      TRY(session::command_of({.label = action + " the folder of the claim",
                               .asset = "playbooks/storage-claim.sh",
                               .variables = claim_variables(action, storage, claim),
                               .timeout = action == "purge" ? purge_limit : usual_limit},
                              client.assets()));
  command.effect = transport::Effect::changes;
  if (action != "make" && action != "class") command.purpose = transport::Purpose::clean_up;
  return session::ask(host, std::move(command), client.fleet());
}

/// The volumes of claims of this name on the storage. By what they were made for: their names were others
/// once, and another volume may have the name now.
Result<std::vector<Tree>> volumes_of(const ClaimPlan& plan, session::ClusterClient& client,
                                     transport::Purpose purpose = transport::Purpose::work) {
  const auto& [storage, claim, host, node] = plan;
  const std::string selector = fmt::format("{}={},{}={}", workload::managed_by_label, workload::managed_by,
                                           workload::storage_label, storage.name);
  std::vector<Tree> volumes = TRY(client.get({{"persistentvolumes"}, {}, selector}, purpose));
  std::erase_if(volumes, [&](const Tree& object) {
    return text_at(object, {"spec", "claimRef", "namespace"}) != claim.ns ||
           text_at(object, {"spec", "claimRef", "name"}) != claim.name;
  });
  return volumes;
}

/// Deletes those that no claim is bound to.
Result<> delete_released(const ClaimPlan& plan, session::ClusterClient& client) {
  std::vector<Tree> volumes = TRY(volumes_of(plan, client));
  std::erase_if(volumes, [](const Tree& object) { return text_at(object, {"status", "phase"}) == "Bound"; });
  return client.remove_objects(volumes);
}

bool is_named(const Tree& object, const std::string& name) {
  return text_at(object, {"metadata", "name"}) == name;
}

void show(const StorageClaimOptions& options, const ClaimPlan& plan, const ClaimFolder& folder, Io& io) {
  const auto& [storage, claim, host, node] = plan;
  if (options.format == Format::json) {
    io.out(base::json::write(Tree::map_of({{"name", claim.name},
                                           {"namespace", claim.ns},
                                           {"storage", storage.name},
                                           {"volume", workload::volume_of(storage, claim)},
                                           {"folder", workload::folder_of(storage, claim)},
                                           {"existed", folder.existed}})) +
           "\n");
  } else {
    io.out(fmt::format("claim {} in namespace {}: {} on storage {}\n", claim.name, claim.ns, claim.size,
                       storage.name));
    io.out(fmt::format("  folder: {}\n", workload::folder_of(storage, claim)));
    io.out(fmt::format(
        "  in a pod: volumes: [{{ name: data, persistentVolumeClaim: {{ claimName: {} }} }}]\n", claim.name));
  }
  if (const std::string note = note_of(plan, folder); !note.empty()) io.err(note);
}

}  // namespace

Result<ClaimPlan> plan_claim(const spec::Cluster& cluster, const spec::Storage& storage,
                             workload::StorageClaim claim, session::ClusterClient& client) {
  std::string host = TRY(host_with(storage, cluster, client));
  ClaimPlan plan{storage, std::move(claim), std::move(host), {}};
  plan.node = TRY(node_with(storage, cluster, client));
  return plan;
}

Result<ClaimFolder> make_claim_folder(const ClaimPlan& plan, session::ClusterClient& client) {
  const transport::Exit exit = TRY(run("make", plan, client));
  const auto words = base::words(exit.out);
  if (exit.status != 0 || words.empty())
    return base::fail(Fault::remote, fmt::format("{}: {}", plan.host, base::tail(exit.err, 3)),
                      "gpuadm storage list shows where the storage is mounted");
  const ClaimFolder folder{words[0] == "existing", words.size() > 1 ? base::to_int(words[1]) : std::nullopt};
  const auto deleted = delete_released(plan, client);
  if (deleted) return folder;
  if (!folder.existed) (void)run("drop", plan, client);
  return std::unexpected(deleted.error());
}

Result<std::string> make_class_folder(const ClaimPlan& plan, session::ClusterClient& client) {
  const transport::Exit exit = TRY(run("class", plan, client));
  if (exit.status == 0) return spec::marker_of(plan.storage) + "/volumes";
  return base::fail(Fault::remote, fmt::format("{}: {}", plan.host, base::tail(exit.err, 3)),
                    "gpuadm storage list shows where the storage is");
}

Result<bool> drop_class_folder(const ClaimPlan& plan, session::ClusterClient& client) {
  const transport::Exit exit = TRY(run("class-drop", plan, client));
  if (exit.status == 0) return base::trim(exit.out) != "deleted";
  return base::fail(Fault::remote, fmt::format("{}: {}", plan.host, base::tail(exit.err, 3)));
}

std::string note_of(const ClaimPlan& plan, const ClaimFolder& folder) {
  std::string note;
  if (folder.existed) note += "the folder has existed before: its files, owner and mode are unchanged\n";
  const auto wanted = workload::bytes_of("--size", plan.claim.size);
  if (folder.free && wanted && *folder.free < *wanted)
    note += fmt::format("the storage has {} free, less than {}\n",
                        base::human_bytes(static_cast<unsigned long long>(*folder.free)), plan.claim.size);
  return note;
}

Result<> remove_volume(const ClaimPlan& plan, ClaimFiles files, session::ClusterClient& client) {
  TRY(client.remove_objects(TRY(volumes_of(plan, client, transport::Purpose::clean_up))));
  const transport::Exit exit = TRY(run(files == ClaimFiles::deleted ? "purge" : "drop", plan, client));
  if (exit.status == 0) return {};
  return base::fail(Fault::remote, fmt::format("{}: {}", plan.host, base::tail(exit.err, 3)),
                    fmt::format("delete {} on {}", workload::folder_of(plan.storage, plan.claim), plan.host));
}

void drop_claim_folder(const ClaimPlan& plan, const ClaimFolder& folder, session::ClusterClient& client) {
  if (folder.existed) return;
  const auto claims = client.get({{"persistentvolumeclaims"}, plan.claim.ns, {}});
  if (claims &&
      std::ranges::none_of(*claims, [&](const Tree& object) { return is_named(object, plan.claim.name); }))
    (void)run("drop", plan, client);
}

Result<spec::Cluster> with_known_storages(const Hosts& hosts, const spec::Cluster& cluster,
                                          session::ClusterClient& client) {
  if (client.is_limited()) return cluster;
  auto source = read_storages(hosts, cluster, client.host(), client.fleet(), client.assets());
  if (source) return std::move(source->cluster);
  if (source.error().fault == Fault::blocked) return cluster;  // no cluster file is known
  return std::unexpected(source.error());
}

namespace {

/// Makes a folder on a storage, and a PersistentVolume and a PersistentVolumeClaim for it.
Result<Outcome> storage_claim(const StorageClaimOptions& options, Io& io) {
  const workload::StorageClaim claim{options.name, options.ns, options.size, options.owner};
  TRY(workload::check_claim(claim));
  TRY(workload::size_of("--size", claim.size));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster hosts = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(hosts, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::full);
  session::ClusterClient client = TRY(session::ClusterClient::open(hosts, *fleet, assets));
  if (client.is_limited()) return claim_from_class(claim, options.storage, options.format, client, io);
  const spec::Cluster cluster =
      TRY(read_storages(options.hosts, hosts, client.host(), *fleet, assets)).cluster;
  const ClaimPlan plan =
      TRY(plan_claim(cluster, TRY(storage_named(cluster, options.storage)), claim, client));
  TRY(check_new_claim(claim, client));
  const ClaimFolder folder = TRY(make_claim_folder(plan, client));
  if (const auto created = client.create(claim.ns, plan.objects()); !created) {
    drop_claim_folder(plan, folder, client);
    return std::unexpected(created.error());
  }
  // A removal of the storage that began meanwhile may not have seen the claim.
  if (const auto checked = check_claim_folders(plan.storage, claim.ns, {claim.name}, cluster, client, io);
      !checked) {
    std::vector<Tree> references;
    for (const Tree& object : plan.objects())
      references.insert(references.begin(), workload::reference_to(workload::name_of(object)));
    TRY(client.remove_objects(references));
    drop_claim_folder(plan, folder, client);
    return std::unexpected(checked.error());
  }
  show(options, plan, folder, io);
  return Outcome::done;
}

}  // namespace

Command storage_claim_command() {
  return CommandRow<StorageClaimOptions>{
      .name = "storage claim",
      .group = Group::workloads,
      .summary = "Create a volume on a storage, and a claim for pods",
      .options =
          [](Line& line, StorageClaimOptions& options) {
            line.argument("NAME", options.name, "Name of the claim").required();
            line.value("--on", options.storage, "STORAGE", "Storage; with --kubeconfig a StorageClass")
                .required();
            line.value("--size", options.size, "SIZE", "Size of the volume, such as 10Gi; it is not enforced")
                .required();
            add_access(line, options.common, options.ns);
            line.value("--owner", options.owner, "UID:GID",
                       "Owner of the folder, mode 0770 (default: root, and pods of every user may write, "
                       "mode 0777)");
            add_hosts(line, options.hosts);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm storage claim models --size 100Gi --on data -f cluster.yaml",
                    "for pods of any user"},
                   {"gpuadm storage claim home --size 10Gi --on data -n anna --owner 1000:1000 -f "
                    "cluster.yaml",
                    "for one user"}},
      .run = storage_claim};
}

}  // namespace commands
