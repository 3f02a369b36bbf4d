#include "commands/workloads/notebook/notebook_plan.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* catalog_file = "playbooks/catalog.yaml";

/// What depends on the cluster, or without one (`cluster` is null) on defaults.
Result<> complete(NotebookPlan& plan, const facts::ClusterFacts* cluster, const assets::Store& assets) {
  workload::Notebook& notebook = plan.notebook;
  const Tree catalog = TRY(base::yaml::read(TRY(assets.read(catalog_file)), catalog_file));
  const auto cuda = cluster ? workload::cuda_of(*cluster, plan.supply) : std::nullopt;
  notebook.image = TRY(workload::image_of(catalog, notebook.image, notebook.gpus, cuda));
  if (notebook.shm.empty()) notebook.shm = workload::shm_of(notebook, cluster, plan.supply);
  plan.parts = workload::parts_of(plan.supply, notebook.gpus, notebook.name, notebook.ns,
                                  workload::labels_of(workload::notebook_kind, notebook.name));
  return {};
}

bool is_named(const Tree& object, const char* kind, const std::string& name) {
  return text_at(object, {"kind"}) == kind && text_at(object, {"metadata", "name"}) == name;
}

const Tree* find(const std::vector<Tree>& objects, const char* kind, const std::string& name) {
  const auto found =
      std::ranges::find_if(objects, [&](const Tree& object) { return is_named(object, kind, name); });
  return found == objects.end() ? nullptr : &*found;
}

bool is_ours(const Tree& object, const workload::Notebook& notebook) {
  const Tree* labels = object.at({"metadata", "labels"});
  if (!labels) return false;
  const Tree wanted = workload::labels_of(workload::notebook_kind, notebook.name);
  return std::ranges::all_of(wanted.entries(), [&](const auto& label) {
    const Tree* found = labels->find(label.first);
    return found && found->text() == label.second.text();
  });
}

Result<> check_free(const std::vector<Tree>& objects, const workload::Notebook& notebook) {
  const std::string shown = notebook.ns + "/" + notebook.name;
  for (const char* kind : {"Deployment", "Service"})
    if (const Tree* taken = find(objects, kind, notebook.name)) {
      if (is_ours(*taken, notebook))
        return base::fail(
            Fault::blocked, fmt::format("the notebook {} already exists", shown),
            fmt::format(
                "gpuadm notebook url {0} -n {1}, or gpuadm notebook delete {0} -n {1}, or another name",
                notebook.name, notebook.ns));
      return base::fail(Fault::blocked, fmt::format("the name is taken: there is a {} {}", kind, shown),
                        "use another name");
    }
  return {};
}

std::vector<std::string> names_of(const spec::Cluster& cluster) {
  std::vector<std::string> names;
  for (const spec::Storage& storage : cluster.storage) names.push_back(storage.name);
  return names;
}

workload::StorageClaim claim_for(const workload::Notebook& notebook, const std::string& size) {
  Tree labels = workload::labels_of(workload::notebook_kind, notebook.name);
  labels.set(workload::instance_label, notebook.instance);
  return {notebook.name, notebook.ns, size, {}, std::move(labels)};
}

/// With --size, --storage names a storage of gpuadm or a StorageClass.
Result<> plan_volume(NotebookPlan& plan, const Hosts& hosts, ReachedCluster& cluster) {
  workload::Notebook& notebook = plan.notebook;
  if (notebook.size.empty() || notebook.storage_class.empty()) return {};
  session::ClusterClient& client = cluster.client();
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), client));
  const auto objects = TRY(client.get({{"storageclasses", "persistentvolumeclaims"}, notebook.ns, {}}));
  const std::string name = notebook.storage_class;
  const auto kind = TRY(workload::volume_kind(name, workload::VolumeSize::given,
                                              {workload::names_in(objects, "PersistentVolumeClaim"),
                                               names_of(known), workload::names_in(objects, "StorageClass")},
                                              notebook.ns));
  if (kind == workload::VolumeKind::claim)
    return base::fail(
        Fault::blocked,
        fmt::format("--storage: {} is an existing PersistentVolumeClaim, which has a size", name),
        "leave out --size to mount it");
  if (kind == workload::VolumeKind::storage_class) return {};
  plan.volume =
      TRY(plan_claim(known, TRY(storage_named(known, name)), claim_for(notebook, notebook.size), client));
  notebook.size.clear();
  notebook.storage_class.clear();
  return {};
}

/// A volume of an earlier notebook of this name.
Result<> check_kept(const Tree& kept, NotebookPlan& plan) {
  workload::Notebook& notebook = plan.notebook;
  if (!is_ours(kept, notebook)) {
    if (!plan.has_new_volume()) return {};
    return base::fail(Fault::blocked,
                      fmt::format("the name of the volume is taken: there is a PersistentVolumeClaim {}/{}",
                                  notebook.ns, notebook.name),
                      "use another name, or mount it: --storage " + notebook.name + " without --size");
  }
  if (plan.has_new_volume())
    return base::fail(
        Fault::blocked,
        fmt::format("the volume of an earlier notebook {}/{} exists", notebook.ns, notebook.name),
        fmt::format("omit --size to use it, or delete it: gpuadm notebook delete {} -n {} --purge",
                    notebook.name, notebook.ns));
  if (notebook.claim.empty()) {
    notebook.claim = notebook.name;
    plan.note = fmt::format("using the volume of the earlier notebook {}/{}", notebook.ns, notebook.name);
  }
  return {};
}

/// The claim that the notebook mounts.
Result<> check_claim(const std::vector<Tree>& objects, const workload::Notebook& notebook, const Hosts& hosts,
                     ReachedCluster& cluster) {
  const Tree* claim = find(objects, "PersistentVolumeClaim", notebook.claim);
  if (!claim) {
    const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
    TRY(workload::volume_kind(notebook.claim, workload::VolumeSize::missing,
                              {workload::names_in(objects, "PersistentVolumeClaim"), names_of(known),
                               workload::names_in(objects, "StorageClass")},
                              notebook.ns));
  } else if (claim->at({"metadata", "deletionTimestamp"})) {
    return base::fail(Fault::blocked,
                      fmt::format("--storage: the PersistentVolumeClaim {}/{} is being deleted", notebook.ns,
                                  notebook.claim));
  }
  return {};
}

Result<> check_volume(const std::vector<Tree>& objects, NotebookPlan& plan, const Hosts& hosts,
                      ReachedCluster& cluster) {
  const workload::Notebook& notebook = plan.notebook;
  if (const Tree* kept = find(objects, "PersistentVolumeClaim", notebook.name)) TRY(check_kept(*kept, plan));
  if (notebook.claim.empty()) {
    plan.note = "without --storage or --size, files are lost when the notebook stops";
    return {};
  }
  if (!plan.has_new_volume()) return check_claim(objects, notebook, hosts, cluster);
  plan.lacks_storage =
      !plan.volume && notebook.storage_class.empty() && workload::default_classes(objects).empty();
  if (plan.lacks_storage)
    return base::fail(Fault::blocked,
                      "--size: the cluster has no default StorageClass, so no volume can be created",
                      "name a storage, a StorageClass or an existing claim with --storage");
  return {};
}

}  // namespace

std::vector<Tree> NotebookPlan::objects(const base::Secret& token) const {
  std::vector<Tree> all = volume ? volume->objects() : std::vector<Tree>();
  for (Tree& object : workload::objects_of(notebook, parts, token)) all.push_back(std::move(object));
  return all;
}

Result<NotebookPlan> plan_notebook(const workload::NotebookRequest& request, const Hosts& hosts,
                                   ReachedCluster& cluster) {
  NotebookPlan plan{
      .notebook = TRY(workload::make_notebook(request)), .supply = {}, .parts = {}, .volume = {}, .note = {}};
  const facts::ClusterFacts facts = TRY(cluster.client().read_nodes_and_pods());
  plan.supply = TRY(workload::supply_of(facts));
  plan.notebook.instance = TRY(workload::new_instance());
  TRY(plan_volume(plan, hosts, cluster));
  TRY(complete(plan, &facts, cluster.assets()));
  return plan;
}

Result<NotebookPlan> plan_notebook_offline(const workload::NotebookRequest& request, const Hosts& hosts,
                                           const Common& common) {
  NotebookPlan plan{
      .notebook = TRY(workload::make_notebook(request)), .supply = {}, .parts = {}, .volume = {}, .note = {}};
  const assets::Store assets = TRY(assets::Store::open(common.assets));
  spec::Cluster cluster;
  if (!hosts.file.empty()) cluster = TRY(session::read_cluster(hosts, common.connection));
  plan.supply = workload::supply_of(cluster);
  workload::Notebook& notebook = plan.notebook;
  notebook.instance = TRY(workload::new_instance());
  if (const auto* storage = spec::find_storage(cluster, notebook.storage_class);
      storage && !notebook.size.empty()) {
    plan.volume = ClaimPlan{*storage, claim_for(notebook, std::exchange(notebook.size, "")), storage->host,
                            storage->host};
    notebook.storage_class.clear();
  }
  TRY(complete(plan, nullptr, assets));
  return plan;
}

Result<std::optional<ClaimPlan>> claim_of_notebook(const Tree& claim, const Hosts& hosts,
                                                   ReachedCluster& cluster) {
  const Tree* name = claim.at({"metadata", "labels", workload::storage_label});
  if (!name) return std::nullopt;
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
  const spec::Storage* storage = spec::find_storage(known, name->text());
  if (!storage) return std::nullopt;
  workload::StorageClaim mine{text_at(claim, {"metadata", "name"}),
                              text_at(claim, {"metadata", "namespace"}),
                              text_at(claim, {"spec", "resources", "requests", "storage"}),
                              {}};
  TRY(workload::check_claim(mine));
  return plan_claim(known, *storage, std::move(mine), cluster.client());
}

Result<> check_notebook(NotebookPlan& plan, const Hosts& hosts, ReachedCluster& cluster) {
  const workload::Notebook& notebook = plan.notebook;
  const auto objects = TRY(cluster.client().get(
      {.kinds = {"namespaces", "storageclasses", "deployments.apps", "services", "persistentvolumeclaims"},
       .ns = notebook.ns,
       .selector = {}}));
  const Tree* ns = find(objects, "Namespace", notebook.ns);
  if (!ns || ns->at({"metadata", "deletionTimestamp"}))
    return base::fail(
        Fault::blocked,
        fmt::format("the namespace {} {}", notebook.ns, ns ? "is being deleted" : "does not exist"),
        "kubectl create namespace " + notebook.ns);
  TRY(check_free(objects, notebook));
  TRY(workload::check_fit(plan.supply, notebook.gpus, 1, workload::Placement::anywhere));
  return check_volume(objects, plan, hosts, cluster);
}

}  // namespace commands
