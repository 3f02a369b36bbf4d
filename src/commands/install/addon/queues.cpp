#include "commands/install/addon/queues.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/prove.hpp"
#include "commands/operate/user/user.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// Jobs that hold GPUs of a ClusterQueue keep it from being deleted until they have ended.
constexpr std::chrono::seconds queue_deletion{20};

Result<const workload::Addon*> kueue() {
  return workload::find_installable_addon(workload::kueue_addon);
}

const Tree* object_like(const std::vector<Tree>& objects, const Tree& wanted) {
  const auto found = std::ranges::find(objects, workload::name_of(wanted), workload::name_of);
  return found == objects.end() ? nullptr : &*found;
}

/// The queues that gpuadm has made, in the order of deletion.
Result<std::vector<Tree>> read_own_queues(session::ClusterClient& client) {
  std::vector<Tree> objects;
  for (const std::string& kind : workload::queue_kinds())
    for (Tree& object :
         TRY(client.get({.kinds = {kind},
                         .ns = {},
                         .selector = workload::selector_of(workload::addon_kind, workload::kueue_addon)})))
      objects.push_back(std::move(object));
  return objects;
}

}  // namespace

Result<std::optional<workload::Sharing>> read_sharing(session::ClusterClient& client) {
  const auto inventory = TRY(read_addon(*TRY(kueue()), client));
  if (!inventory) return std::nullopt;
  const auto setting = inventory->settings.find("sharing");
  if (setting == inventory->settings.end()) return workload::Sharing::borrow;
  return TRY(workload::parse_sharing(setting->second));
}

Result<std::vector<std::string>> update_queues(workload::Sharing sharing, session::ClusterClient& client) {
  const auto flavors = TRY(workload::queue_flavors(TRY(client.read_nodes_and_pods())));
  const auto users = TRY(read_users(client));
  const std::vector<Tree> desired = workload::queue_objects(flavors, users, sharing);
  std::vector<Tree> references;
  for (const Tree& object : desired) references.push_back(workload::reference_to(workload::name_of(object)));
  const auto existing = TRY(client.find(references));
  if (const auto foreign = workload::foreign_objects(existing, *TRY(kueue())); !foreign.empty())
    return base::fail(Fault::blocked,
                      "objects of others have names of gpuadm's queues: " + base::join(foreign, ", "),
                      "delete or rename them");
  std::vector<std::string> done;
  std::vector<Tree> changed, removed;
  for (const Tree& object : desired) {
    const Tree* found = object_like(existing, object);
    if (found && workload::has_all_of(*found, object)) continue;
    done.push_back(
        fmt::format("{} {}", found ? "change" : "create", workload::describe(workload::name_of(object))));
    changed.push_back(object);
  }
  if (!changed.empty()) TRY(client.apply(changed));
  for (Tree& object : TRY(read_own_queues(client)))
    if (!object_like(desired, object)) removed.push_back(std::move(object));
  for (const Tree& object : removed) {
    if (object.at({"metadata", "deletionTimestamp"})) continue;
    const std::string name = workload::describe(workload::name_of(object));
    const auto deleted = client.remove_objects({object}, queue_deletion);
    if (!deleted && client.fleet().interrupted()) return std::unexpected(deleted.error());
    done.push_back(deleted ? "delete " + name
                           : fmt::format("delete {}, which lasts until its jobs have ended", name));
  }
  return done;
}

Result<> update_queues_of_users(session::ClusterClient& client, Io& io) {
  const auto updated = [&]() -> Result<std::vector<std::string>> {
    const auto sharing = TRY(read_sharing(client));
    if (!sharing) return std::vector<std::string>();
    return update_queues(*sharing, client);
  }();
  if (updated) {
    for (const std::string& line : *updated) io.out(fmt::format("  {}\n", line));
    return {};
  }
  base::Error error = updated.error();
  error.what = "the queues of the users could not be updated: " + error.what;
  if (error.hint.empty()) error.hint = "gpuadm addon enable kueue";
  return std::unexpected(std::move(error));
}

Result<> enable_queues(ReachedCluster& cluster, std::chrono::seconds timeout, Io& io) {
  constexpr std::chrono::seconds longest{120};
  const auto sharing = TRY(read_sharing(cluster.client())).value_or(workload::Sharing::borrow);
  const std::string lines = TRY(prove_within(std::min(timeout, longest), cluster, "the webhooks of Kueue",
                                             [&](std::string& reason) -> Result<std::optional<std::string>> {
                                               const auto done = update_queues(sharing, cluster.client());
                                               if (done) return base::join(*done, "\n");
                                               if (done.error().fault != Fault::remote)
                                                 return std::unexpected(done.error());
                                               reason = done.error().what;
                                               return std::nullopt;
                                             }));
  if (!lines.empty() && io.err_style.verbosity != report::Verbosity::quiet) io.err(lines + "\n");
  return {};
}

Result<> check_queues_unused(session::ClusterClient& client, bool force) {
  // A first enable that has failed may have made none of the definitions.
  if (TRY(client.find({workload::reference_to(
              {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "workloads.kueue.x-k8s.io"})}))
          .empty())
    return {};
  for (const std::string& kind : workload::queue_kinds())
    for (const Tree& object : TRY(client.get({{kind}, {}, {}})))
      if (!workload::is_of_addon(object, *TRY(kueue())))
        return base::fail(Fault::blocked,
                          fmt::format("{} is not of gpuadm, and would be deleted",
                                      workload::describe(workload::name_of(object))),
                          "delete it yourself, then run again");
  if (force) return {};
  std::vector<std::string> waiting;
  for (const workload::QueuedJob& job :
       workload::queued_jobs(TRY(client.get({{"workloads.kueue.x-k8s.io"}, {}, {}}))))
    if (job.phase == workload::QueuedJob::Phase::waiting)
      waiting.push_back(fmt::format("{}/{}", job.ns, job.job));
  if (waiting.empty()) return {};
  return base::fail(
      Fault::blocked,
      fmt::format("{} job{} wait{} in queues, and would never start: {}", waiting.size(),
                  waiting.size() == 1 ? "" : "s", waiting.size() == 1 ? "s" : "", base::join(waiting, ", ")),
      "wait for them, or stop them (gpuadm train stop); --force leaves them suspended");
}

Result<> delete_queues(session::ClusterClient& client) {
  const Tree none = Tree::map_of({{"metadata", Tree::map_of({{"finalizers", Tree()}})}});
  for (const std::string& kind : workload::kueue_kinds()) {
    if (TRY(client.find(
                {workload::reference_to({"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", kind})},
                transport::Purpose::clean_up))
            .empty())
      continue;
    const auto objects = TRY(client.get({{kind}, {}, {}}, transport::Purpose::clean_up));
    for (const Tree& object : objects) {
      const Tree* finalizers = object.at({"metadata", "finalizers"});
      if (!finalizers || finalizers->items().empty()) continue;
      const std::string ns = text_at(object, {"metadata", "namespace"});
      TRY(client.patch(ns.empty() ? "default" : ns,
                       fmt::format("{}/{}", kind, text_at(object, {"metadata", "name"})), none,
                       transport::Purpose::clean_up));
    }
    TRY(client.remove_objects(objects));
  }
  return {};
}

}  // namespace commands
