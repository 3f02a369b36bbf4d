#include "commands/workloads/service/create.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/service/first_storage.hpp"
#include "commands/workloads/service/named.hpp"
#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/wait_ready.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

std::string instance_selector(const workload::ServicePod& pod) {
  return workload::instance_selector(pod.kind, pod.name, pod.instance);
}

/// Deletes the objects of this run, and says so; or how to, if that fails. `volume`: whether the new volume
/// is deleted with its files.
void withdraw(const ServiceCreation& creation, bool folder_existed, workload::OwnVolume volume,
              ReachedCluster& cluster, const Io& io) {
  const ServicePlan& plan = creation.plan;
  const bool deletes = volume == workload::OwnVolume::deleted;
  report_deletion(shown(creation.service), io);
  auto removed =
      remove_service(cluster, plan.pod.ns, instance_selector(plan.pod),
                     plan.parts.claim_template ? workload::GpuClaims::yes : workload::GpuClaims::no,
                     plan.has_new_volume() ? volume : workload::OwnVolume::kept);
  if (removed && plan.volume && deletes)
    removed = remove_volume(*plan.volume, folder_existed ? ClaimFiles::kept : ClaimFiles::deleted,
                            cluster.client());
  if (removed)
    io.err(fmt::format("deleted what was created of {}{}\n", shown(creation.service),
                       !deletes && plan.has_new_volume() ? ", except its volume" : ""));
  else
    io.err(fmt::format("cannot delete what was created: {}\n  {} --purge\n",
                       base::printable(removed.error().what), command_for("delete", creation.service)));
}

/// The folders of the claims that it mounts.
Result<> check_folders(const ServiceCreation& creation, ReachedCluster& cluster, const Io& io) {
  const std::string& ns = creation.plan.pod.ns;
  const auto& volume = creation.plan.volume;
  if (volume)
    TRY(check_claim_folders(volume->storage, ns, {volume->claim.name}, cluster.spec(), cluster.client(), io));
  std::vector<std::string> claims = creation.claims;
  if (!volume && !creation.plan.pod.claim.empty()) claims.push_back(creation.plan.pod.claim);
  return check_claims_of_pod(claims, ns, creation.service.hosts, cluster.spec(), cluster.client(), io);
}

/// What happens to one that is ready and fails its proof: if it did not answer, it remains, because the
/// network may be the cause. Otherwise it is deleted; its volume remains, as downloads take long.
base::Error not_proven(const ServiceCreation& creation, bool folder_existed, base::Error error,
                       ReachedCluster& cluster, const Io& io) {
  if (error.fault == Fault::interrupted) {
    withdraw(creation, folder_existed, workload::OwnVolume::deleted, cluster, io);
    return error;
  }
  const bool remains = creation.keep || error.fault == Fault::unreachable || error.fault == Fault::timeout;
  error.what = fmt::format("the {} is ready, and {}: {}", with_noun(creation.service),
                           remains ? "runs, but could not be proven" : "does not pass its proof", error.what);
  if (remains)
    error.hint = with_details(error.hint, command_for("url", creation.service));
  else
    withdraw(creation, folder_existed, workload::OwnVolume::kept, cluster, io);
  return error;
}

}  // namespace

bool is_uncertain(Fault fault) {
  return fault == Fault::interrupted || fault == Fault::timeout || fault == Fault::unreachable;
}

Result<ServicePlan> plan_and_check(const ServicePlanning& planning, std::unique_ptr<ReachedCluster>& cluster,
                                   Io& io) {
  const NamedService& service = planning.service;
  ServicePlan plan = TRY(planning.plan(""));
  auto checked = check_service(plan, planning.pods, service.hosts, *cluster);
  if (!checked && plan.lacks_storage && !cluster->client().is_limited()) {
    const std::string storage =
        TRY(make_first_storage(planning.size, plan, service, planning.consent, *cluster, io));
    // The cluster file has the storage now, and is read again.
    cluster.reset();
    cluster = TRY(ReachedCluster::open(service.hosts, service.common, session::Access::full, io));
    plan = TRY(planning.plan(storage));
    checked = check_service(plan, planning.pods, service.hosts, *cluster);
  }
  if (!checked) return std::unexpected(checked.error());
  return plan;
}

Result<std::string> create_service(const ServiceCreation& creation, ReachedCluster& cluster, Io& io) {
  const ServicePlan& plan = creation.plan;
  ClaimFolder folder;
  if (plan.volume) {
    folder = TRY(make_claim_folder(*plan.volume, cluster.client()));
    io.err(note_of(*plan.volume, folder));
  }
  if (const auto checked = check_folders(creation, cluster, io); !checked) {
    if (plan.volume) drop_claim_folder(*plan.volume, folder, cluster.client());
    return std::unexpected(checked.error());
  }
  const auto created = cluster.client().create(plan.pod.ns, creation.objects);
  if (!created) {
    if (is_uncertain(created.error().fault))
      withdraw(creation, folder.existed, workload::OwnVolume::deleted, cluster, io);
    else if (plan.volume)
      drop_claim_folder(*plan.volume, folder, cluster.client());
    return std::unexpected(created.error());
  }
  AwaitedPod pod{plan.pod.ns, plan.pod.name, instance_selector(plan.pod)};
  pod.running = creation.running;
  auto node = wait_ready(cluster, pod, creation.timeout, io);
  if (node) {
    auto proven = creation.proof ? creation.proof(*node) : Result<>();
    if (proven) return node;
    return std::unexpected(not_proven(creation, folder.existed, std::move(proven).error(), cluster, io));
  }
  base::Error error = node.error();
  if (error.fault != Fault::interrupted)
    error.what = fmt::format("the {} does not become ready: {}", with_noun(creation.service), error.what);
  if (!creation.keep || error.fault == Fault::interrupted)
    withdraw(creation, folder.existed, workload::OwnVolume::deleted, cluster, io);
  else
    error.hint =
        with_details(error.hint, explain_command({plan.pod.ns, plan.pod.name}, creation.service.hosts,
                                                 creation.service.common.connection));
  return std::unexpected(std::move(error));
}

void print_objects(const std::vector<Tree>& objects, const Io& io) {
  for (const Tree& object : objects) io.out("---\n" + base::yaml::write(object));
}

}  // namespace commands
