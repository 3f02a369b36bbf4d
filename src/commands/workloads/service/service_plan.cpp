#include "commands/workloads/service/service_plan.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health.hpp"
#include "gpuadm/spec/storage.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// What depends on the cluster, or without one (`cluster` is null) on defaults.
void complete(ServicePlan& plan, const facts::ClusterFacts* cluster) {
  workload::ServicePod& pod = plan.pod;
  if (pod.shm.empty()) pod.shm = workload::shm_of(pod, cluster, plan.supply);
  plan.parts =
      workload::parts_of(plan.supply, pod.gpus, pod.name, pod.ns, workload::labels_of(pod.kind, pod.name));
}

bool is_named(const Tree& object, const char* kind, const std::string& name) {
  return text_at(object, {"kind"}) == kind && text_at(object, {"metadata", "name"}) == name;
}

const Tree* find(const std::vector<Tree>& objects, const char* kind, const std::string& name) {
  const auto found =
      std::ranges::find_if(objects, [&](const Tree& object) { return is_named(object, kind, name); });
  return found == objects.end() ? nullptr : &*found;
}

bool is_ours(const Tree& object, const workload::ServicePod& pod) {
  const Tree* labels = object.at({"metadata", "labels"});
  if (!labels) return false;
  const Tree wanted = workload::labels_of(pod.kind, pod.name);
  return std::ranges::all_of(wanted.entries(), [&](const auto& label) {
    const Tree* found = labels->find(label.first);
    return found && found->text() == label.second.text();
  });
}

Result<> check_free(const std::vector<Tree>& objects, const workload::ServicePod& pod) {
  const std::string shown = pod.ns + "/" + pod.name;
  for (const char* kind : {"Deployment", "Service"})
    if (const Tree* taken = find(objects, kind, pod.name)) {
      if (is_ours(*taken, pod))
        return base::fail(
            Fault::blocked, fmt::format("the {} {} already exists", workload::noun_of(pod.kind), shown),
            fmt::format("gpuadm {2} url {0} -n {1}, or gpuadm {2} delete {0} -n {1}, or another name",
                        pod.name, pod.ns, pod.kind));
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

workload::StorageClaim claim_for(const workload::ServicePod& pod, const std::string& size) {
  Tree labels = workload::labels_of(pod.kind, pod.name);
  labels.set(workload::instance_label, pod.instance);
  return {pod.name, pod.ns, size, {}, std::move(labels)};
}

/// With --size, --storage names a storage of gpuadm or a StorageClass.
Result<> plan_volume(ServicePlan& plan, const Hosts& hosts, ReachedCluster& cluster) {
  workload::ServicePod& pod = plan.pod;
  if (pod.size.empty() || pod.storage_class.empty()) return {};
  session::ClusterClient& client = cluster.client();
  const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), client));
  const auto objects = TRY(client.get({{"storageclasses", "persistentvolumeclaims"}, pod.ns, {}}));
  const std::string name = pod.storage_class;
  const auto kind = TRY(workload::volume_kind(name, workload::VolumeSize::given,
                                              {workload::names_in(objects, "PersistentVolumeClaim"),
                                               names_of(known), workload::names_in(objects, "StorageClass")},
                                              pod.ns));
  if (kind == workload::VolumeKind::claim)
    return base::fail(
        Fault::blocked,
        fmt::format("--storage: {} is an existing PersistentVolumeClaim, which has a size", name),
        "leave out --size to mount it");
  if (kind == workload::VolumeKind::storage_class) return {};
  plan.volume = TRY(plan_claim(known, TRY(storage_named(known, name)), claim_for(pod, pod.size), client));
  pod.size.clear();
  pod.storage_class.clear();
  return {};
}

/// A volume of an earlier notebook or served model of this name.
Result<> check_kept(const Tree& kept, ServicePlan& plan) {
  workload::ServicePod& pod = plan.pod;
  if (!is_ours(kept, pod)) {
    if (!plan.has_new_volume()) return {};
    return base::fail(Fault::blocked,
                      fmt::format("the name of the volume is taken: there is a PersistentVolumeClaim {}/{}",
                                  pod.ns, pod.name),
                      "use another name, or mount it: --storage " + pod.name + " without --size");
  }
  if (plan.has_new_volume())
    return base::fail(Fault::blocked,
                      fmt::format("the volume of an earlier {} {}/{} exists", workload::noun_of(pod.kind),
                                  pod.ns, pod.name),
                      fmt::format("omit --size to use it, or delete it: gpuadm {} delete {} -n {} --purge",
                                  pod.kind, pod.name, pod.ns));
  if (pod.claim.empty()) {
    pod.claim = pod.name;
    plan.note = fmt::format("using the volume of the earlier {} {}/{}", workload::noun_of(pod.kind), pod.ns,
                            pod.name);
  }
  return {};
}

/// The claim that it mounts.
Result<> check_claim(const std::vector<Tree>& objects, const workload::ServicePod& pod, const Hosts& hosts,
                     ReachedCluster& cluster) {
  const Tree* claim = find(objects, "PersistentVolumeClaim", pod.claim);
  if (!claim) {
    const spec::Cluster known = TRY(with_known_storages(hosts, cluster.spec(), cluster.client()));
    TRY(workload::volume_kind(pod.claim, workload::VolumeSize::missing,
                              {workload::names_in(objects, "PersistentVolumeClaim"), names_of(known),
                               workload::names_in(objects, "StorageClass")},
                              pod.ns));
  } else if (claim->at({"metadata", "deletionTimestamp"})) {
    return base::fail(
        Fault::blocked,
        fmt::format("--storage: the PersistentVolumeClaim {}/{} is being deleted", pod.ns, pod.claim));
  }
  return {};
}

Result<> check_volume(const std::vector<Tree>& objects, ServicePlan& plan, const Hosts& hosts,
                      ReachedCluster& cluster) {
  const workload::ServicePod& pod = plan.pod;
  if (const Tree* kept = find(objects, "PersistentVolumeClaim", pod.name)) TRY(check_kept(*kept, plan));
  if (pod.claim.empty()) {
    if (pod.kind == workload::notebook_kind)
      plan.note = "without --storage or --size, files are lost when the notebook stops";
    return {};
  }
  if (!plan.has_new_volume()) return check_claim(objects, pod, hosts, cluster);
  plan.lacks_storage =
      !plan.volume && pod.storage_class.empty() && workload::default_classes(objects).empty();
  if (plan.lacks_storage)
    return base::fail(Fault::blocked,
                      "--size: the cluster has no default StorageClass, so no volume can be created",
                      "name a storage, a StorageClass or an existing claim with --storage");
  return {};
}

bool has_health_conditions(const facts::Node& node) {
  return std::ranges::any_of(cluster::health_types,
                             [&](auto type) { return node.conditions.contains(std::string(type)); });
}

/// As if these pods had ended.
void drop_pods(facts::ClusterFacts& facts, const std::string& ns, const std::vector<std::string>& names) {
  const auto is_dropped = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (facts.pods)
    std::erase_if(*facts.pods, [&](const facts::Pod& pod) { return pod.ns == ns && is_dropped(pod.name); });
  if (facts.resource_claims)
    std::erase_if(*facts.resource_claims, [&](const facts::ResourceClaim& claim) {
      return claim.ns == ns && !claim.pods.empty() && std::ranges::all_of(claim.pods, is_dropped);
    });
}

}  // namespace

std::vector<Tree> ServicePlan::with_volume(std::vector<Tree> objects) const {
  std::vector<Tree> all = volume ? volume->objects() : std::vector<Tree>();
  for (Tree& object : objects) all.push_back(std::move(object));
  return all;
}

Result<ServicePlan> plan_service(workload::ServicePod pod, const Hosts& hosts, ReachedCluster& cluster,
                                 const std::vector<std::string>& replaced) {
  ServicePlan plan;
  plan.pod = std::move(pod);
  facts::ClusterFacts facts = TRY(cluster.client().read_nodes_and_pods());
  plan.has_health_checks = facts.nodes && std::ranges::any_of(*facts.nodes, has_health_conditions);
  plan.spare = TRY(workload::supply_of(facts));
  drop_pods(facts, plan.pod.ns, replaced);
  plan.supply = replaced.empty() ? plan.spare : TRY(workload::supply_of(facts));
  plan.cuda = workload::cuda_of(facts, plan.supply);
  plan.pod.instance = TRY(workload::new_instance());
  TRY(plan_volume(plan, hosts, cluster));
  complete(plan, &facts);
  return plan;
}

Result<ServicePlan> plan_service_offline(workload::ServicePod pod, const Hosts& hosts, const Common& common) {
  ServicePlan plan;
  plan.pod = std::move(pod);
  spec::Cluster cluster;
  if (!hosts.file.empty()) cluster = TRY(session::read_cluster(hosts, common.connection));
  plan.supply = workload::supply_of(cluster);
  workload::ServicePod& made = plan.pod;
  made.instance = TRY(workload::new_instance());
  if (const auto* storage = spec::find_storage(cluster, made.storage_class); storage && !made.size.empty()) {
    plan.volume =
        ClaimPlan{*storage, claim_for(made, std::exchange(made.size, "")), storage->host, storage->host};
    made.storage_class.clear();
  }
  complete(plan, nullptr);
  return plan;
}

Result<std::optional<ClaimPlan>> claim_of_service(const Tree& claim, const Hosts& hosts,
                                                  ReachedCluster& cluster) {
  const Tree* name = claim.at({"metadata", "labels", workload::storage_label});
  if (!name) return std::nullopt;
  if (cluster.client().is_limited())
    return base::fail(
        Fault::blocked,
        fmt::format("the files of its volume are on the storage {}, on hosts, which a kubeconfig "
                    "does not reach",
                    base::printable(name->text(), 80)),
        "--keep-volume keeps the volume; an administrator can delete it over SSH");
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

Result<> check_service(ServicePlan& plan, int pods, const Hosts& hosts, ReachedCluster& cluster,
                       NameUse name) {
  const workload::ServicePod& pod = plan.pod;
  const auto objects = TRY(cluster.client().get(
      {.kinds = {"storageclasses", "deployments.apps", "services", "persistentvolumeclaims"},
       .ns = pod.ns,
       .selector = {}}));
  const auto spaces = TRY(cluster.client().find({workload::reference_to({"v1", "Namespace", "", pod.ns})}));
  const Tree* ns = find(spaces, "Namespace", pod.ns);
  if (!ns || ns->at({"metadata", "deletionTimestamp"}))
    return base::fail(Fault::blocked,
                      fmt::format("the namespace {} {}", pod.ns, ns ? "is being deleted" : "does not exist"),
                      "kubectl create namespace " + pod.ns);
  if (name == NameUse::free) TRY(check_free(objects, pod));
  TRY(workload::check_fit(plan.supply, pod.gpus, pods, workload::Placement::anywhere));
  return check_volume(objects, plan, hosts, cluster);
}

}  // namespace commands
