#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Job (batch/v1), and a JobSet (https://github.com/kubernetes-sigs/jobset) whose only Job is one.
namespace workload {

namespace {

using base::Tree;

/// Where the Job controller writes the index of a pod.
constexpr std::array index_fields = {"metadata.annotations['batch.kubernetes.io/job-completion-index']",
                                     "metadata.labels['batch.kubernetes.io/job-completion-index']"};

/// Variables of the rank that gpuadm sets.
constexpr std::array rank_variables = {"RANK", "NODE_RANK", "GROUP_RANK", "PET_NODE_RANK",
                                       "JOB_COMPLETION_INDEX"};

bool is_index(const Tree& variable) {
  return std::ranges::find(index_fields, text_at(variable, {"valueFrom", "fieldRef", "fieldPath"})) !=
         index_fields.end();
}

/// Whether gpuadm sets the same: the index as the rank, the name of rank 0 as its address, the number of
/// ranks. A port becomes that of the job.
bool is_same(const Tree& variable, const std::string& first, TrainJob& job) {
  const std::string name = text_of(variable, "name"), value = text_of(variable, "value");
  if (is_index(variable)) return std::ranges::find(rank_variables, name) != rank_variables.end();
  if (name == "MASTER_ADDR" || name == "PET_MASTER_ADDR")
    return value == first || value.starts_with(first + ".");
  if (name == "WORLD_SIZE" || name == "PET_NNODES") return value == std::to_string(job.ranks());
  if (name != "MASTER_PORT" && name != "PET_MASTER_PORT") return false;
  const auto port = base::to_int(value);
  if (!port || *port <= 0 || *port > 65'535) return false;
  job.port = static_cast<int>(*port);
  return true;
}

/// Removes the variables by which pods of an Indexed Job find each other, where gpuadm sets the same.
/// `first`: the name of rank 0.
void take_rendezvous(const std::string& first, TrainJob& job) {
  Tree* container = main_container(job.roles.front());
  Tree* list = container ? container->find("env") : nullptr;
  if (!list) return;
  std::erase_if(list->items(), [&](const Tree& one) { return is_same(one, first, job); });
  // A Job for each rank has no index.
  for (Tree& one : list->items())
    if (is_index(one)) {
      one.erase("valueFrom");
      one.set("value", "$(RANK)");
    }
  if (list->items().empty()) container->erase("env");
}

constexpr std::string_view all_succeed =
    "a rank that fails ends the job, and all must succeed: remove this field";

/// `mode`: the completion mode without the field.
void read_indexed(TrainFields& spec, const ReadContext& context, const std::string& mode, TrainJob& job) {
  // Kubernetes starts a rank again six times by default.
  const bool has_limit = spec.has("backoffLimit");
  const bool has_completions = spec.has("completions");
  const long long completions = spec.number("completions", 1);
  const long long parallelism = spec.number("parallelism", completions);
  if (!has_completions && parallelism > 1)
    spec.refuse("parallelism",
                fmt::format("completions is not set, and such pods have no ranks: add completions: {} and "
                            "completionMode: Indexed",
                            parallelism));
  else if (parallelism != completions)
    spec.refuse("parallelism",
                fmt::format("differs from completions: all ranks of a training job run at the same time; set "
                            "both to {}",
                            completions));
  if (completions > 1 && spec.text("completionMode", mode) != "Indexed")
    spec.refuse("completions", "several pods without ranks: add completionMode: Indexed");
  (void)spec.use("completionMode");
  job.roles = {role_from(spec.below("template"),
                         {.name = "worker", .replicas = completions, .image = context.image}, job)};
  job.processes = 0;
  if (!has_limit) spec.remark(failure_note);
  for (const char* key : {"podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes"})
    spec.refuse(key, all_succeed);
  for (const char* key : {"selector", "manualSelector"})
    spec.refuse(key, "gpuadm selects pods by its labels");
  spec.note("podReplacementPolicy", "pods are not replaced");
}

}  // namespace

void read_job(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  read_indexed(spec, context, "NonIndexed", job);
  take_rendezvous(job.name + "-0", job);
}

void read_job_set(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  const Tree* jobs = spec.use("replicatedJobs");
  if (!jobs || jobs->items().size() != 1)
    return spec.problem(
        jobs ? *jobs : spec.map(), "replicatedJobs",
        "gpuadm runs a JobSet with one replicated job: write a PyTorchJob with Master and Worker, "
        "or an MPIJob with Launcher and Worker");
  const Tree& only = jobs->items().front();
  const std::string name = text_of(only, "name");
  TrainFields replicated =
      spec.of(only, fmt::format("{}.replicatedJobs.{}", spec.path(), base::printable(name, 60)));
  for (const char* key : {"name", "groupName", "dependsOn"}) (void)replicated.use(key);
  if (replicated.number("replicas", 1) != 1)
    replicated.refuse("replicas",
                      "gpuadm runs one Job: set completions and parallelism to the number of ranks");
  TrainFields object = replicated.below("template");
  object.note("metadata", "objects get the labels and annotations of gpuadm");
  TrainFields inner = object.below("spec");
  read_run_policy(inner, job);
  // The default of JobSet (pkg/webhooks/jobset_webhook.go).
  read_indexed(inner, context, "Indexed", job);
  inner.end();
  object.end();
  replicated.end();
  for (int rank = 0; rank < job.ranks(); ++rank)
    job.hosts.push_back(fmt::format("{}-{}-0-{}", job.name, name, rank));
  take_rendezvous(job.hosts.front(), job);
  TrainFields failure = spec.below("failurePolicy");
  job.restarts = std::max(job.restarts.value_or(0), static_cast<int>(failure.count("maxRestarts", 0)));
  failure.note("rules", "all ranks are started again after any failure");
  (void)failure.use("restartStrategy");
  failure.end();
  // Of one Job they say the same.
  for (const char* key : {"network", "successPolicy", "startupPolicy"}) (void)spec.use(key);
  spec.note("coordinator", "not used: MASTER_ADDR is the address of rank 0");
}

}  // namespace workload
