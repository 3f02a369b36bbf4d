#include "workload/train/train_fields.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Tree;

const Tree& nothing() {
  static const Tree empty = Tree::map();
  return empty;
}

constexpr long long most_ranks = 10'000;

/// The controller that each kind has by default.
bool is_own_controller(std::string_view manager) {
  return manager.empty() || manager == "kubeflow.org/training-operator" ||
         manager == "kubeflow.org/mpi-operator" || manager == "trainer.kubeflow.org/trainjob-controller" ||
         manager == "kubernetes.io/job-controller" || manager == "jobset.sigs.k8s.io/jobset-controller";
}

}  // namespace

bool TrainFields::has(std::string_view key) const {
  const Tree* value = map_->find(key);
  return value && !value->is_null();
}

const Tree* TrainFields::use(std::string_view key) {
  used_.emplace(key);
  return has(key) ? map_->find(key) : nullptr;
}

std::string TrainFields::text(std::string_view key, const std::string& otherwise) {
  const Tree* value = use(key);
  return value ? value->text() : otherwise;
}

long long TrainFields::from(long long lowest, std::string_view key, long long otherwise) {
  const Tree* value = use(key);
  if (!value) return otherwise;
  const auto count = base::to_int(value->text());
  if (count && *count >= lowest && *count <= most_ranks) return *count;
  refuse(key, fmt::format("not a number from {} to {}", lowest, most_ranks));
  return otherwise;
}

long long TrainFields::number(std::string_view key, long long otherwise) {
  return from(1, key, otherwise);
}

long long TrainFields::count(std::string_view key, long long otherwise) {
  return from(0, key, otherwise);
}

bool TrainFields::flag(std::string_view key) {
  const Tree* value = use(key);
  return value && value->as_bool().value_or(false);
}

TrainFields TrainFields::below(std::string_view key) {
  const Tree* value = use(key);
  return {value ? *value : nothing(), path_.empty() ? std::string(key) : path_ + "." + std::string(key),
          source_, into_};
}

std::string TrainFields::line(const Tree& at, std::string_view key, std::string_view message) const {
  std::string path = path_;
  if (!key.empty()) path += (path.empty() ? "" : ".") + base::printable(key, 80);
  const base::Mark mark = at.key_mark.line > 0 ? at.key_mark : at.mark;
  return fmt::format("{}:{}:{}: {}: {}", source_, mark.line, mark.column, path, message);
}

void TrainFields::note(std::string_view key, std::string_view message) {
  if (const Tree* value = use(key)) into_.notes.push_back(line(*value, key, message));
}

void TrainFields::remark(std::string_view message) {
  into_.notes.push_back(line(*map_, "", message));
}

void TrainFields::remark(const Tree& at, std::string_view path, std::string_view message) {
  into_.notes.push_back(line(at, path, message));
}

void TrainFields::refuse(std::string_view key, std::string_view why) {
  if (const Tree* value = use(key)) into_.problems.push_back(line(*value, key, why));
}

void TrainFields::problem(std::string_view why) {
  into_.problems.push_back(line(*map_, "", why));
}

void TrainFields::problem(const Tree& at, std::string_view path, std::string_view why) {
  into_.problems.push_back(line(at, path, why));
}

void TrainFields::end() {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : map_->entries())
    if (!used_.contains(key)) unknown.push_back(key);
  for (const std::string& key : unknown) refuse(key, "this field is not supported");
}

void read_run_policy(TrainFields& fields, TrainJob& job) {
  if (fields.has("activeDeadlineSeconds")) {
    const auto seconds = base::to_int(fields.text("activeDeadlineSeconds"));
    if (seconds && *seconds > 0)
      job.timeout = *seconds;
    else
      fields.refuse("activeDeadlineSeconds", "not a number above zero");
  }
  fields.note("cleanPodPolicy", "pods stay until gpuadm train stop, for their logs");
  fields.note("ttlSecondsAfterFinished", "the job stays until gpuadm train stop");
  job.restarts = std::max(job.restarts.value_or(0), static_cast<int>(fields.count("backoffLimit", 0)));
  if (fields.flag("suspend")) {
    // Kueue resumes the job when it admits it.
    const Tree* label = job.labels.find(queue_label);
    if (job.queue.empty() && label) job.queue = label->text();
    if (job.queue.empty())
      fields.refuse(
          "suspend",
          "the job waits until it is resumed: add --queue to wait in a queue of the cluster, or remove "
          "this field to start now");
  }
  if (const std::string manager = fields.text("managedBy"); !is_own_controller(manager))
    fields.refuse("managedBy", "another controller is responsible for the job");
  TrainFields scheduling = fields.below("schedulingPolicy");
  for (const char* key : {"minAvailable", "minResources", "scheduleTimeoutSeconds"})
    scheduling.note(key, "gpuadm starts all ranks or none, within the time of --wait");
  for (const char* key : {"queue", "priorityClass"})
    scheduling.note(key,
                    "not used: gpuadm starts the job now or refuses it; --queue waits in a queue of Kueue");
  scheduling.end();
}

int processes_of(TrainFields& fields, std::string_view key) {
  const std::string text = fields.text(key, "");
  if (text.empty() || text == "auto" || text == "gpu") return 0;
  if (text == "cpu") {
    fields.refuse(key, "the number of CPUs differs between nodes; specify a number");
    return 1;
  }
  return static_cast<int>(fields.number(key, 1));
}

}  // namespace workload
