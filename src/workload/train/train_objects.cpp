#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include "workload/train/train_names.hpp"
#include "workload/train/train_pod.hpp"
#include "workload/train/train_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// Before 1.28 the pods of an Indexed Job have no label with their index that a Service could select.
constexpr base::Version indexed_since{1, 28, -1};

bool has_command(const Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return false;
  const Tree* command = containers->items().front().find("command");
  return command && !command->items().empty();
}

Tree metadata(const TrainJob& job, const std::string& name) {
  return Tree::map_of({{"name", name}, {"namespace", job.ns}, {"labels", labels_of(job)}});
}

Tree service_of(const TrainJob& job, const TrainService& service, JobForm form) {
  Tree selector = labels_of(train_kind, job.name);
  // Ranks start at the same time, and rank 0 is not ready before the others try to reach it.
  Tree spec = Tree::map_of({{"publishNotReadyAddresses", true}});
  if (!service.rank) {
    spec.set("clusterIP", "None");
  } else {
    selector.set(form == JobForm::indexed ? index_label : rank_label, std::to_string(*service.rank));
    Tree ports = Tree::list();
    for (const int port : ports_of(job))
      ports.push(Tree::map_of(
          {{"name", ports.items().empty() ? "rendezvous" : fmt::format("port-{}", port)}, {"port", port}}));
    spec.set("ports", std::move(ports));
  }
  spec.set("selector", std::move(selector));
  return Tree::map_of({{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata", metadata(job, service.name)},
                       {"spec", std::move(spec)}});
}

Tree metadata_of_job(const TrainJob& job, const std::string& name, const Role& role) {
  Tree all = metadata(job, name);
  if (!job.labels.is_null()) {
    Tree labels = job.labels;
    labels.merge(labels_of(job));
    all.set("labels", std::move(labels));
  }
  if (job.restarts) all["annotations"].set(restarts_annotation, std::to_string(*job.restarts));
  if (role.ends_with_job) all["annotations"].set(follower_annotation, "true");
  if (!job.queue.empty()) all["labels"].set(queue_label, job.queue);
  return all;
}

/// `indexes`: the number of ranks of an Indexed Job.
Tree job_of(const TrainJob& job, Tree metadata, Tree pod, std::optional<int> indexes) {
  Tree spec = Tree::map_of({{"backoffLimit", 0}});
  if (indexes) {
    spec.set("completionMode", "Indexed");
    spec.set("completions", *indexes);
    spec.set("parallelism", *indexes);
  }
  if (!job.queue.empty()) spec.set("suspend", true);
  if (job.timeout > 0) spec.set("activeDeadlineSeconds", static_cast<std::int64_t>(job.timeout));
  spec.set("template", std::move(pod));
  return Tree::map_of({{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"metadata", std::move(metadata)},
                       {"spec", std::move(spec)}});
}

Tree keys_of(const TrainJob& job, const MpiKeys& keys) {
  return Tree::map_of({{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"metadata", metadata(job, keys_name(job))},
                       {"type", "Opaque"},
                       {"data", Tree::map_of({{"client", base::base64(keys.client)},
                                              {"client.pub", base::base64(keys.client_public)},
                                              {"host", base::base64(keys.host)},
                                              {"host.pub", base::base64(keys.host_public)}})}});
}

Tree source_of(const TrainJob& job) {
  Tree data = Tree::map();
  for (std::size_t i = 0; i < job.source.size(); ++i)
    data.set(fmt::format("f{}", i), base::base64(job.source[i].content));
  return Tree::map_of({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", metadata(job, source_name(job))},
                       {"binaryData", std::move(data)}});
}

}  // namespace

int TrainJob::ranks() const {
  int count = 0;
  for (const Role& role : roles) count += role.replicas;
  return count;
}

const Role& TrainJob::role_of(int rank) const {
  for (const Role& role : roles) {
    if (rank < role.replicas) return role;
    rank -= role.replicas;
  }
  return roles.back();
}

int TrainJob::processes_of(int rank) const {
  return processes > 0 ? processes : processes_for(role_of(rank).gpus);
}

JobForm form_of(const TrainJob& job, const std::optional<base::Version>& oldest) {
  const bool labels_indexes =
      oldest && (oldest->major > indexed_since.major || oldest->minor >= indexed_since.minor);
  const std::set<std::string> variables = expanded_variables(job);
  const bool same = job.roles.size() == 1 && (has_command(job.roles.front()) || job.ranks() == 1) &&
                    !uses_hosts(job) && !variables.contains("MASTER_ADDR") &&
                    !variables.contains("PET_MASTER_ADDR");
  return labels_indexes && same ? JobForm::indexed : JobForm::one_per_rank;
}

Result<TrainObjects> objects_of(const TrainJob& job, const TrainContext& context) {
  TrainObjects objects;
  objects.companions = companions_of(job);
  for (const TrainService& service : services_of(job))
    objects.services.push_back(service_of(job, service, context.form));
  if (context.keys) objects.others.push_back(keys_of(job, *context.keys));
  if (!job.source.empty()) objects.others.push_back(source_of(job));
  for (const Role& role : job.roles)
    if (auto claims = parts_of(context.supply, role.gpus, claims_name(job, role), job.ns, labels_of(job))
                          .claim_template)
      objects.others.push_back(std::move(*claims));
  if (context.form == JobForm::indexed) {
    objects.others.push_back(job_of(job, metadata_of_job(job, job.name, job.roles.front()),
                                    TRY(template_of(job, std::nullopt, context)), job.ranks()));
    return objects;
  }
  for (int rank = 0; rank < job.ranks(); ++rank)
    objects.others.push_back(
        job_of(job, metadata_of_job(job, fmt::format("{}-{}", job.name, rank), job.role_of(rank)),
               TRY(template_of(job, rank, context)), std::nullopt));
  return objects;
}

std::vector<Tree> companions_of(const TrainJob& job) {
  std::vector<Tree> companions = job.companions;
  for (Tree& one : companions) {
    one["metadata"].set("namespace", job.ns);
    one["metadata"]["labels"].merge(labels_of(job));
  }
  return companions;
}

Result<> check_queue(const TrainJob& job, JobForm form, const GpuSupply& supply) {
  if (job.queue.empty()) return {};
  if (form == JobForm::one_per_rank && job.ranks() > 1)
    return base::fail(
        Fault::blocked,
        fmt::format("the ranks of {} differ, so each is a Job, and a queue would admit them one by "
                    "one",
                    job.name),
        "without a queue, --wait 12h waits until all of them fit");
  if (!supply.claims.empty() &&
      std::ranges::any_of(job.roles, [](const Role& role) { return role.gpus.any(); }))
    return base::fail(Fault::blocked, "this cluster allocates GPUs by claims, which its queues do not count",
                      "without a queue, --wait 12h waits for free GPUs");
  return {};
}

Result<> check_sidecars(const TrainJob& job, const std::optional<base::Version>& oldest) {
  if (job.sidecars.empty() || (oldest && *oldest >= sidecars_since)) return {};
  return base::fail(
      Fault::usage,
      fmt::format("the container {} runs next to the ranks, which needs Kubernetes {}.{}",
                  base::printable(job.sidecars.front(), 80), sidecars_since.major, sidecars_since.minor),
      "remove it from the manifest, or upgrade the cluster");
}

}  // namespace workload
