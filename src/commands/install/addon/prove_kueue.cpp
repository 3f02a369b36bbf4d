#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/queue.hpp"

#include "commands/install/addon/prove.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// Kueue admits no jobs in its own namespace.
constexpr const char* proof_ns = "default";
constexpr const char *fitting = "gpuadm-kueue-proof", *over_quota = "gpuadm-kueue-proof-over";

Result<std::vector<Tree>> proof_of_queues(const workload::Addon& addon, const assets::Store& assets) {
  return workload::addon_objects(addon, TRY(assets.read("templates/addons/kueue-proof.yaml")),
                                 TRY(images_of_addon(addon, TRY(read_catalog(assets)))));
}

bool has_ended_as(const Tree& job, std::string_view type) {
  const Tree* conditions = job.at({"status", "conditions"});
  return conditions && std::ranges::any_of(conditions->items(), [&](const Tree& one) {
           return text_of(one, "type") == type && text_of(one, "status") == "True";
         });
}

const Tree* job_named(const std::vector<Tree>& objects, std::string_view name) {
  const auto found = std::ranges::find_if(objects, [&](const Tree& object) {
    return text_of(object, "kind") == "Job" && text_at(object, {"metadata", "name"}) == name;
  });
  return found == objects.end() ? nullptr : &*found;
}

/// Whether the job that fits was admitted and has ended, while the other one waits; nothing: not yet.
Result<std::optional<std::string>> read_proof_jobs(ReachedCluster& cluster, std::string& reason) {
  const std::string ns = proof_ns;
  const auto objects = TRY(cluster.client().get({{"jobs.batch", "workloads.kueue.x-k8s.io"}, ns, {}}));
  const auto jobs = workload::queued_jobs(objects);
  const Tree *fits = job_named(objects, fitting), *waits = job_named(objects, over_quota);
  if (!fits || !waits) return base::fail(Fault::remote, "a job of the proof was deleted by others");
  const workload::QueuedJob *admitted = find_queued(jobs, ns, fitting),
                            *waiting = find_queued(jobs, ns, over_quota);
  if (!admitted || !waiting) {
    reason = "Kueue has not queued the jobs yet";
    return std::nullopt;
  }
  const Tree* suspended = waits->at({"spec", "suspend"});
  if (waiting->phase != workload::QueuedJob::Phase::waiting || !suspended ||
      !suspended->as_bool().value_or(false))
    return base::fail(Fault::remote, "a job that needs more than its queue has was admitted");
  if (has_ended_as(*fits, "Failed"))
    return base::fail(Fault::remote, "the job of the proof was admitted, and failed",
                      fmt::format("kubectl -n {} get pods", ns));
  if (!has_ended_as(*fits, "Complete")) {
    reason = admitted->phase == workload::QueuedJob::Phase::waiting
                 ? "the job was not admitted: " + admitted->why
                 : "the job was admitted, and has not ended";
    return std::nullopt;
  }
  if (waiting->why.empty()) {
    reason = "Kueue has not examined the job that needs more than its queue has";
    return std::nullopt;
  }
  return "a job was admitted and ran; one that needs more than its queue has waits";
}

/// Whether all of gpuadm's ClusterQueues admit jobs.
Result<std::optional<std::string>> read_active_queues(ReachedCluster& cluster, std::string& reason) {
  std::size_t count = 0;
  for (const Tree& queue : TRY(cluster.client().get(
           {.kinds = {"clusterqueues.kueue.x-k8s.io"},
            .ns = {},
            .selector = workload::selector_of(workload::addon_kind, workload::kueue_addon)}))) {
    const std::string name = text_at(queue, {"metadata", "name"});
    if (name == fitting) continue;
    ++count;
    if (!has_ended_as(queue, "Active")) {
      reason = fmt::format("the ClusterQueue {} is not active", base::printable(name, 80));
      return std::nullopt;
    }
  }
  return fmt::format("{} ClusterQueue{} active", count, count == 1 ? " is" : "s are");
}

}  // namespace

Result<std::string> prove_kueue(const workload::Addon& addon, ReachedCluster& cluster,
                                std::chrono::seconds timeout) {
  const std::vector<Tree> objects = TRY(proof_of_queues(addon, cluster.assets()));
  std::vector<Tree> references;
  for (const Tree& object : objects) references.push_back(workload::reference_to(workload::name_of(object)));
  std::ranges::reverse(references);  // the jobs first
  const auto remove = [&]() -> Result<> {
    const auto found = TRY(cluster.client().find(references, transport::Purpose::clean_up));
    if (const auto foreign = workload::foreign_objects(found, addon); !foreign.empty())
      return base::fail(Fault::blocked,
                        "others have an object with the name of the proof: " + foreign.front(),
                        "rename or delete it");
    return cluster.client().remove_objects(found);
  };
  TRY(remove());
  auto seen = [&]() -> Result<std::string> {
    TRY(cluster.client().apply(objects));
    const std::string jobs = TRY(prove_within(timeout, cluster, "a job in a queue", [&](std::string& reason) {
      return read_proof_jobs(cluster, reason);
    }));
    const std::string queues =
        TRY(prove_within(timeout, cluster, "the queues of the cluster",
                         [&](std::string& reason) { return read_active_queues(cluster, reason); }));
    return jobs + "; " + queues;
  }();
  auto removed = remove();
  if (!seen) return seen;
  TRY(std::move(removed));
  return seen;
}

}  // namespace commands
