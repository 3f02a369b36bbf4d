#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "workload/train_pod.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// Before 1.28 the pods of an Indexed Job have no label with their index that a Service could select.
constexpr base::Version indexed_since{1, 28, -1};

constexpr const char* attempt_variable = "GPUADM_ATTEMPT";

bool has_command(const Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return false;
  const Tree* command = containers->items().front().find("command");
  return command && !command->items().empty();
}

Tree metadata(const TrainJob& job, const std::string& name) {
  return Tree::map_of({{"name", name}, {"namespace", job.ns}, {"labels", labels_of(job)}});
}

Tree service_of(const TrainJob& job, const std::string& name, int rank, JobForm form) {
  Tree selector = labels_of(train_kind, job.name);
  selector.set(form == JobForm::indexed ? index_label : rank_label, std::to_string(rank));
  Tree port = Tree::map_of({{"name", "rendezvous"}, {"port", service_port(job)}});
  // Ranks start at the same time, and rank 0 is not ready before the others try to reach it.
  return Tree::map_of({{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"metadata", metadata(job, name)},
                       {"spec", Tree::map_of({{"selector", std::move(selector)},
                                              {"publishNotReadyAddresses", true},
                                              {"ports", Tree(Tree::List{std::move(port)})}})}});
}

Tree job_of(const TrainJob& job, const std::string& name, Tree pod, std::optional<int> indexes) {
  Tree spec = Tree::map_of({{"backoffLimit", 0}});
  if (indexes) {
    spec.set("completionMode", "Indexed");
    spec.set("completions", *indexes);
    spec.set("parallelism", *indexes);
  }
  if (job.timeout > 0) spec.set("activeDeadlineSeconds", static_cast<std::int64_t>(job.timeout));
  spec.set("template", std::move(pod));
  return Tree::map_of({{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"metadata", metadata(job, name)},
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

Tree* variables_of(Tree& job) {
  Tree* spec = job.find("spec");
  Tree* pod = spec ? spec->find("template") : nullptr;
  pod = pod ? pod->find("spec") : nullptr;
  Tree* containers = pod ? pod->find("containers") : nullptr;
  if (!containers || containers->items().empty()) return nullptr;
  return containers->items().front().find("env");
}

std::string variable_in(const Tree& list, std::string_view name) {
  for (const Tree& one : list.items())
    if (const Tree *key = one.find("name"), *value = one.find("value"); key && value && key->text() == name)
      return value->text();
  return "";
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

JobForm form_of(const TrainJob& job, const std::optional<base::Version>& oldest) {
  const bool labels_indexes =
      oldest && (oldest->major > indexed_since.major || oldest->minor >= indexed_since.minor);
  const bool same = job.roles.size() == 1 && (has_command(job.roles.front()) || job.ranks() == 1);
  return labels_indexes && same ? JobForm::indexed : JobForm::one_per_rank;
}

Result<TrainObjects> objects_of(const TrainJob& job, const TrainContext& context) {
  TrainObjects objects;
  const std::vector<std::string> services = service_names(job);
  for (std::size_t i = 0; i < services.size(); ++i)
    objects.services.push_back(service_of(job, services[i], static_cast<int>(i), context.form));
  if (context.keys) objects.others.push_back(keys_of(job, *context.keys));
  if (!job.source.empty()) objects.others.push_back(source_of(job));
  for (const Role& role : job.roles)
    if (auto claims = parts_of(context.supply, role.gpus, claims_name(job, role), job.ns, labels_of(job))
                          .claim_template)
      objects.others.push_back(std::move(*claims));
  if (context.form == JobForm::indexed) {
    objects.others.push_back(
        job_of(job, job.name, TRY(template_of(job, std::nullopt, context)), job.ranks()));
    return objects;
  }
  for (int rank = 0; rank < job.ranks(); ++rank)
    objects.others.push_back(job_of(job, fmt::format("{}-{}", job.name, rank),
                                    TRY(template_of(job, rank, context)), std::nullopt));
  return objects;
}

int attempt_of(const Tree& job) {
  Tree copy = job;
  const Tree* list = variables_of(copy);
  return list ? static_cast<int>(base::to_int(variable_in(*list, attempt_variable)).value_or(0)) : 0;
}

Result<Tree> repeated(const Tree& job, int attempt) {
  const Tree* name = job.at({"metadata", "name"});
  Tree next = Tree::map_of({{"apiVersion", "batch/v1"}, {"kind", "Job"}});
  for (const char* key : {"name", "namespace", "labels", "annotations"})
    if (const Tree* value = job.at({"metadata", key})) next["metadata"].set(key, *value);
  if (const Tree* spec = job.find("spec")) next.set("spec", *spec);
  Tree* list = variables_of(next);
  if (!name || !list || variable_in(*list, checkpoint_variable).empty())
    return base::fail(Fault::usage,
                      fmt::format("job {} has no directory for checkpoints, so it can only begin again",
                                  name ? base::printable(name->text(), 80) : ""),
                      "gpuadm train run with --storage");
  for (Tree& one : list->items())
    if (one.find("name")->text() == attempt_variable) one.set("value", std::to_string(attempt));
  // Kubernetes adds a selector and labels with the id of the Job.
  Tree& spec = next["spec"];
  for (const char* key : {"selector", "manualSelector"}) spec.erase(key);
  if (const Tree* completions = spec.find("completions")) spec.set("parallelism", *completions);
  Tree& metadata = spec["template"]["metadata"];
  metadata.erase("creationTimestamp");
  for (const char* key :
       {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"})
    metadata["labels"].erase(key);
  if (Tree* annotations = next["metadata"].find("annotations"))
    annotations->erase("batch.kubernetes.io/job-tracking");
  return next;
}

}  // namespace workload
