#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/gpus.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"

#include "commands/install/addon/owned.hpp"
#include "commands/operate/user/user.hpp"
#include "commands/workloads/storage/common.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;
using workload::Addon;
using workload::AddonValues;
using workload::ObjectName;

constexpr const char* catalog_asset = "playbooks/catalog.yaml";

Tree* object_named(std::vector<Tree>& objects, std::string_view kind, std::string_view name) {
  const auto found = std::ranges::find_if(objects, [&](const Tree& object) {
    return text_of(object, "kind") == kind && text_at(object, {"metadata", "name"}) == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

/// The folder of local-path is on one host, and so are the pods that use it.
Result<AddonValues> local_path_values(const AddonContext& context, AddonPlan& plan) {
  session::ClusterClient& client = context.cluster.client();
  const auto others = workload::default_classes(TRY(client.get({{"storageclasses"}, {}, {}})), "local-path");
  if (!others.empty())
    return base::fail(Fault::blocked,
                      "the cluster has another default StorageClass: " + base::join(others, ", "),
                      fmt::format("kubectl annotate storageclass {} "
                                  "storageclass.kubernetes.io/is-default-class-",
                                  others.front()));
  const spec::Cluster known =
      TRY(with_known_storages(context.options.addon.hosts, context.cluster.spec(), client));
  const spec::Storage storage = TRY(storage_named(known, context.setting("storage")));
  if (storage.kind != spec::StorageKind::local)
    return base::fail(Fault::usage,
                      fmt::format("the storage {} is not of kind local: volumes of local-path are folders on "
                                  "one host",
                                  storage.name),
                      "gpuadm storage add NAME local --host HOST --path PATH");
  plan.class_storage =
      TRY(plan_claim(known, storage, {"class", std::string(plan.addon->ns), "1Gi", {}}, client));
  return AddonValues{{"default_class_node", plan.class_storage->node},
                     {"default_class_folder", spec::marker_of(storage) + "/volumes"}};
}

Result<AddonValues> dcgm_values(const AddonContext& context) {
  constexpr const char* default_interval = "30";
  const auto nodes = TRY(context.cluster.client().get({{"nodes"}, {}, "nvidia.com/gpu.present=true"}));
  if (nodes.empty())
    return base::fail(Fault::blocked, "no node has the label nvidia.com/gpu.present=true",
                      "gpuadm init and gpuadm apply label nodes with NVIDIA GPUs");
  return AddonValues{{"interval_milliseconds", context.setting("interval", default_interval) + "000"}};
}

/// Kueue does not read its configuration again: the pod has its sum.
Result<AddonValues> kueue_values(const AddonContext& context, AddonPlan& plan) {
  session::ClusterClient& client = context.cluster.client();
  const base::Version version = TRY(api_version_of(client));
  if (version < workload::kueue_since)
    return base::fail(
        Fault::blocked,
        fmt::format("Kueue needs Kubernetes {} or newer, this cluster has {}",
                    workload::kueue_since.minor_text(), version.minor_text()),
        "gpuadm train run with --wait 12h waits for free GPUs without a queue; or gpuadm upgrade");
  const auto flavors = TRY(workload::queue_flavors(TRY(client.read_nodes_and_pods())));
  const auto sharing = TRY(workload::parse_sharing(context.setting("sharing", "borrow")));
  plan.queues = workload::queue_objects(flavors, TRY(read_users(client)), sharing);
  const std::string manifest = TRY(context.cluster.assets().read(plan.addon->manifest));
  return AddonValues{{"kueue_manifest_sum", base::sha256(manifest)}};
}

Result<AddonValues> own_values(const AddonContext& context, AddonPlan& plan) {
  const std::string_view name = plan.addon->name;
  if (name == "local-path") return local_path_values(context, plan);
  if (name == "dcgm-exporter") return dcgm_values(context);
  if (name == "prometheus") return prometheus_values(context, plan);
  if (name == "jupyterhub") return jupyterhub_values(context, plan);
  if (name == workload::kueue_addon) return kueue_values(context, plan);
  const bool skip = context.setting("kubelet-tls", "skip") == "skip";
  if (skip)
    plan.notes.emplace_back(
        "certificates of kubelets are not verified (kubeadm's are signed by themselves): --set "
        "kubelet-tls=verify");
  return AddonValues{{"kubelet_insecure", skip ? "true" : "false"}};
}

/// What depends on the cluster in a way that values cannot express.
Result<> adjust(AddonPlan& plan, ReachedCluster& cluster) {
  if (plan.addon->name == "dcgm-exporter") {
    const auto supply = TRY(workload::supply_of(TRY(cluster.client().read_nodes_and_pods())));
    Tree* daemon = object_named(plan.objects, "DaemonSet", "dcgm-exporter");
    if (daemon && supply.runtime_class.empty())
      (*daemon)["spec"]["template"]["spec"].erase("runtimeClassName");
  }
  if (plan.class_storage)
    if (Tree* made = object_named(plan.objects, "StorageClass", "local-path"))
      (*made)["metadata"]["labels"].set(workload::storage_label, plan.class_storage->storage.name);
  return {};
}

/// The settings without those that name files on the operator's machine.
workload::AddonSettings kept_settings(const Addon& addon, const workload::AddonSettings& settings) {
  workload::AddonSettings kept = settings;
  for (const workload::AddonSetting& setting : addon.settings)
    if (setting.value == "FILE") kept.erase(std::string(setting.name));
  return kept;
}

}  // namespace

Result<AddonValues> images_of_addon(const Addon& addon, const Tree& catalog) {
  AddonValues values;
  for (const std::string_view key : addon.images) {
    const std::string image = text_at(catalog, {"defaults", key});
    if (image.empty()) return base::fail(Fault::spec, fmt::format("{}: {} is missing", catalog_asset, key));
    values[std::string(key)] = image;
  }
  return values;
}

Result<Tree> read_catalog(const assets::Store& assets) {
  return base::yaml::read(TRY(assets.read(catalog_asset)), catalog_asset);
}

std::string AddonContext::setting(const std::string& name, const std::string& otherwise) const {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

Result<std::optional<ClaimPlan>> plan_addon_claim(const AddonContext& context, const Addon& addon,
                                                  const std::string& name, const std::string& size) {
  const std::string storage = context.setting("storage");
  if (storage.empty()) return std::nullopt;
  session::ClusterClient& client = context.cluster.client();
  const spec::Cluster known =
      TRY(with_known_storages(context.options.addon.hosts, context.cluster.spec(), client));
  return plan_claim(
      known, TRY(storage_named(known, storage)),
      {name, std::string(addon.ns), size, {}, workload::labels_of(workload::addon_kind, addon.name)}, client);
}

void set_volume(std::vector<Tree>& objects, const std::string& deployment, const std::string& name,
                const std::optional<ClaimPlan>& plan, const Tree& instead) {
  Tree* object = object_named(objects, "Deployment", deployment);
  if (!object) return;
  for (Tree& volume : (*object)["spec"]["template"]["spec"]["volumes"].items())
    if (text_of(volume, "name") == name) {
      volume = Tree::map_of({{"name", name}});
      if (plan)
        volume.set("persistentVolumeClaim", Tree::map_of({{"claimName", plan->claim.name}}));
      else
        volume.set("emptyDir", instead);
    }
}

Result<AddonPlan> plan_addon(const AddonEnableOptions& options, const workload::AddonSettings& settings,
                             ReachedCluster& cluster) {
  AddonPlan plan;
  plan.addon = TRY(workload::find_installable_addon(options.addon.name));
  const Tree catalog = TRY(read_catalog(cluster.assets()));
  const AddonContext context{options, settings, cluster, catalog};
  AddonValues values = TRY(images_of_addon(*plan.addon, context.catalog));
  values.merge(TRY(own_values(context, plan)));
  std::vector<Tree> secrets = std::exchange(plan.objects, {});
  plan.objects =
      TRY(workload::addon_objects(*plan.addon, TRY(cluster.assets().read(plan.addon->manifest)), values));
  // What pods need is created before them, and after the namespace.
  std::vector<Tree> before = plan.volume ? plan.volume->objects() : std::vector<Tree>();
  before.insert(before.end(), secrets.begin(), secrets.end());
  plan.objects.insert(plan.objects.begin() + 1, before.begin(), before.end());
  if (plan.addon->name == "prometheus")
    set_volume(plan.objects, "prometheus", "metrics", plan.volume, Tree::map_of({{"sizeLimit", "6Gi"}}));
  if (plan.addon->name == "jupyterhub") set_volume(plan.objects, "hub", "files", plan.volume, Tree::map());
  TRY(adjust(plan, cluster));
  // disable could not delete it.
  const auto possible = TRY(possible_objects(*plan.addon, cluster.assets()));
  for (const ObjectName& name : workload::names_of(plan.objects))
    if (!workload::is_possible(name, *plan.addon, possible))
      return base::fail(Fault::bug, fmt::format("{} is not a possible object of the add-on {}",
                                                workload::describe(name), plan.addon->name));
  plan.inventory.settings = kept_settings(*plan.addon, settings);
  plan.inventory.objects = workload::names_of(plan.objects);
  plan.inventory.objects.insert(plan.inventory.objects.begin() + 1, workload::inventory_object(*plan.addon));
  return plan;
}

Result<std::optional<workload::AddonInventory>> read_addon(const Addon& addon,
                                                           session::ClusterClient& client) {
  const auto found = TRY(client.find({workload::reference_to(workload::inventory_object(addon))}));
  if (found.empty()) return std::nullopt;
  if (!workload::is_of_addon(found.front(), addon))
    return base::fail(
        Fault::blocked,
        fmt::format("{} was not made by gpuadm", workload::describe(workload::name_of(found.front()))),
        "rename or delete it");
  return TRY(workload::read_inventory(found.front()));
}

std::string addon_command(std::string_view verb, const AddonOptions& options) {
  return fmt::format("gpuadm addon {} {}{}", verb, options.name,
                     session::typed(options.hosts, options.common.connection));
}

}  // namespace commands
