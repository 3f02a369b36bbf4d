#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/owned.hpp"
#include "commands/install/addon/queues.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/storage/common.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct AddonDisableOptions {
  AddonOptions addon;
  bool force = false;  ///< also while users have notebooks, which end, or while jobs wait in queues
  Consent consent = Consent::ask;
};

using base::Fault;
using base::Tree;
using workload::Addon;
using workload::ObjectName;

/// Notebooks of users end with the hub.
Result<> check_servers(const Addon& addon, const AddonDisableOptions& options,
                       session::ClusterClient& client) {
  if (options.force) return {};
  std::vector<std::string> users;
  for (const Tree& pod :
       TRY(client.get({{"pods"}, std::string(addon.ns), workload::selector_of(workload::addon_server_kind)})))
    if (!pod.at({"metadata", "deletionTimestamp"}))
      users.push_back(base::printable(text_at(pod, {"metadata", "labels", workload::name_label}), 80));
  if (users.empty()) return {};
  return base::fail(Fault::blocked,
                    fmt::format("{} notebook{} would end, of: {}", users.size(), users.size() == 1 ? "" : "s",
                                base::join(users, ", ")),
                    addon_command("disable", options.addon) + " --force");
}

/// Claims of the StorageClass would keep volumes that nothing deletes.
Result<> check_class_users(const Addon& addon, session::ClusterClient& client) {
  if (addon.name != "local-path") return {};
  std::vector<std::string> claims;
  for (const Tree& claim : TRY(client.get({{"persistentvolumeclaims"}, {}, {}})))
    if (text_at(claim, {"spec", "storageClassName"}) == "local-path")
      claims.push_back(workload::describe(workload::name_of(claim)));
  if (claims.empty()) return {};
  return base::fail(Fault::blocked, "claims use the StorageClass local-path: " + base::join(claims, ", "),
                    "delete them, and their files with them, then run again");
}

/// Of an enable that was interrupted before it wrote the inventory: the namespace that gpuadm has created.
Result<std::optional<workload::AddonInventory>> begun_inventory(const Addon& addon,
                                                                session::ClusterClient& client) {
  const auto found = TRY(find_namespace(addon, client));
  const auto record = std::ranges::find(found, workload::namespace_record(addon), workload::name_of);
  if (record == found.end() || !workload::check_namespace(found, addon)) return std::nullopt;
  return workload::AddonInventory{{{"v1", "Namespace", "", std::string(addon.ns)}}, {}};
}

/// Where the data of the add-on stays; empty: it has none on a storage. Without an add-on, the empty folder
/// of local-path is deleted.
Result<std::string> data_left(const Addon& addon, const workload::AddonInventory& inventory,
                              const AddonOptions& options, ReachedCluster& cluster) {
  const auto setting = inventory.settings.find("storage");
  if (setting == inventory.settings.end() || addon.data.empty()) return "";
  session::ClusterClient& client = cluster.client();
  const spec::Cluster known = TRY(with_known_storages(options.hosts, cluster.spec(), client));
  const spec::Storage* storage = spec::find_storage(known, setting->second);
  if (!storage) return fmt::format("{} {}", addon.data, base::printable(setting->second, 80));
  const std::string where = storage->kind == spec::StorageKind::local ? " on " + storage->host : "";
  const workload::StorageClaim claim{
      addon.name == "prometheus" ? "metrics" : "files", std::string(addon.ns), "1Gi", {}};
  if (addon.name != "local-path") return workload::folder_of(*storage, claim) + where;
  const bool kept = TRY(drop_class_folder(TRY(plan_claim(known, *storage, claim, client)), client));
  return kept ? spec::marker_of(*storage) + "/volumes" + where : "";
}

/// Shows what `enable` made, asks, deletes exactly that, and names the data that stays. What the inventory in
/// the cluster lists is deleted only if the add-on can have it and it has the labels of the add-on.
Result<Outcome> addon_disable(const AddonDisableOptions& options, Io& io) {
  const Addon* addon = TRY(workload::find_installable_addon(options.addon.name));
  const auto cluster =
      TRY(ReachedCluster::open(options.addon.hosts, options.addon.common, session::Access::full, io));
  session::ClusterClient& client = cluster->client();
  auto inventory = TRY(read_addon(*addon, client));
  if (!inventory) inventory = TRY(begun_inventory(*addon, client));
  if (!inventory) {
    io.out(fmt::format("the add-on {} is not enabled: nothing to do\n", addon->name));
    return Outcome::done;
  }
  TRY(check_servers(*addon, options, client));
  TRY(check_class_users(*addon, client));
  if (addon->name == workload::kueue_addon) TRY(check_queues_unused(client, options.force));
  const auto others = TRY(others_in(*addon, client));
  auto listed = inventory->objects;
  if (!others.empty())
    std::erase_if(listed,
                  [&](const ObjectName& name) { return name.kind == "Namespace" && name.name == addon->ns; });
  const OwnedObjects owned = TRY(read_owned(*addon, listed, *cluster));
  if (!TRY(confirm_deletion(*addon, owned, options.consent, io)))
    return options.consent == Consent::preview ? Outcome::done : Outcome::interrupted;
  // Without the hub, nothing starts a notebook again.
  const auto rest = std::ranges::find_if(
      owned.objects, [](const Tree& object) { return text_of(object, "kind") != "Deployment"; });
  TRY(client.remove_objects({owned.objects.begin(), rest}));
  TRY(client.remove(std::string(addon->ns), {"pods"}, workload::selector_of(workload::addon_server_kind)));
  TRY(delete_owned(*addon, {rest, owned.objects.end()}, client));
  TRY(forget_namespace(*addon, client));
  const std::string data = TRY(data_left(*addon, *inventory, options.addon, *cluster));
  io.out(fmt::format("the add-on {} is disabled: {} objects deleted\n", addon->name, owned.objects.size()));
  if (!others.empty())
    io.out(fmt::format("the namespace {} is kept, because others have objects in it: {}\n", addon->ns,
                       base::join(others, ", ")));
  if (!data.empty()) io.out(fmt::format("the data stays: {}\n", data));
  return Outcome::done;
}

}  // namespace

Command addon_disable_command() {
  return CommandRow<AddonDisableOptions>{
      .name = "addon disable",
      .group = Group::install,
      .summary = "Delete what enable made; data on a storage stays",
      .options =
          [](Line& line, AddonDisableOptions& options) {
            add_addon(line, options.addon);
            add_preview(line, options.consent);
            line.flag(
                "--force", options.force,
                "Also end the notebooks of users of JupyterHub; of kueue, also while jobs wait in queues");
          },
      .examples = {{"gpuadm addon disable prometheus -f cluster.yaml", "its data stays"}},
      .run = addon_disable};
}

}  // namespace commands
