#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include "workload/train/train_pod.hpp"
#include "workload/train/train_rank.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* attempt_variable = "GPUADM_ATTEMPT";

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

int attempt_of(const Tree& job) {
  Tree copy = job;
  const Tree* list = variables_of(copy);
  return list ? static_cast<int>(base::to_int(variable_in(*list, attempt_variable)).value_or(0)) : 0;
}

int restarts_left(const Tree& job) {
  const Tree* restarts = job.at({"metadata", "annotations", restarts_annotation});
  const auto all = restarts ? base::to_int(restarts->text()) : std::nullopt;
  return all ? std::max(0, static_cast<int>(*all) - attempt_of(job)) : 0;
}

Result<Tree> repeated(const Tree& job, int attempt) {
  const Tree* name = job.at({"metadata", "name"});
  Tree next = Tree::map_of({{"apiVersion", "batch/v1"}, {"kind", "Job"}});
  for (const char* key : {"name", "namespace", "labels", "annotations"})
    if (const Tree* value = job.at({"metadata", key})) next["metadata"].set(key, *value);
  if (const Tree* spec = job.find("spec")) next.set("spec", *spec);
  Tree* list = variables_of(next);
  const bool is_imported = job.at({"metadata", "annotations", restarts_annotation}) != nullptr;
  if (!name || !list || (!is_imported && variable_in(*list, checkpoint_variable).empty()))
    return base::fail(Fault::usage,
                      fmt::format("job {} has no directory for checkpoints, so it can only begin again",
                                  name ? base::printable(name->text(), 80) : ""),
                      "gpuadm train run with --storage");
  for (Tree& one : list->items())
    if (one.find("name")->text() == attempt_variable) one.set("value", std::to_string(attempt));
  // Kubernetes adds a selector and labels with the id of the Job.
  Tree& spec = next["spec"];
  for (const char* key : {"selector", "manualSelector"}) spec.erase(key);
  if (next.at({"metadata", "labels", queue_label})) spec.set("suspend", true);
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
