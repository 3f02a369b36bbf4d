#include "workload/train/train_fields.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Tree;

const Tree& nothing() {
  static const Tree empty = Tree::map();
  return empty;
}

constexpr long long most_ranks = 10'000;

GpuRequest request_of(std::string_view resource, int count) {
  if (count == 0) return {};
  if (std::string profile = mig_profile_of(resource); !profile.empty())
    return {GpuRequest::Form::mig, count, 1, std::move(profile)};
  return {GpuRequest::Form::whole, count, 1, {}};
}

/// Removes GPUs from the limits and requests of a container: gpuadm adds them as the cluster allocates them.
GpuRequest take_gpus(Tree& container, TrainFields& fields) {
  GpuRequest request;
  std::string first;  // the field with the request
  for (const char* part : {"requests", "limits"}) {
    Tree* resources = container.find("resources");
    Tree* map = resources ? resources->find(part) : nullptr;
    if (!map) continue;
    std::vector<std::string> names;
    for (const auto& [name, count] : map->entries())
      if (is_gpu_resource(name)) names.push_back(name);
    for (const std::string& name : names) {
      const Tree value = *map->find(name);
      map->erase(name);
      const std::string path = fmt::format("containers[0].resources.{}.{}", part, name);
      const auto count = base::to_int(value.text());
      if (!count || *count < 0 || *count > most_gpus) {
        fields.problem(value, path, fmt::format("not a number of GPUs from 0 to {}", most_gpus));
        continue;
      }
      const GpuRequest one = request_of(name, static_cast<int>(*count));
      if (one.any() && request.any() && describe(one) != describe(request))
        fields.problem(value, path, "differs from " + first);
      if (!one.any() || request.any()) continue;
      request = one;
      first = path;
    }
  }
  return request;
}

/// The controller that each kind has by default.
bool is_own_controller(std::string_view manager) {
  return manager.empty() || manager == "kubeflow.org/training-operator" ||
         manager == "kubeflow.org/mpi-operator" || manager == "trainer.kubeflow.org/trainjob-controller" ||
         manager == "kubernetes.io/job-controller";
}

bool is_sidecar(const Tree& container) {
  return text_of(container, "restartPolicy") == "Always";
}

/// A rank ends when the container that trains ends. The kubelet ends others with it if they are init
/// containers that are always restarted
/// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers).
void separate_sidecars(Tree& pod, std::string_view trains, TrainFields& spec, TrainJob& job) {
  if (const Tree* first = pod.find("initContainers"))
    for (const Tree& one : first->items())
      if (is_sidecar(one)) job.sidecars.push_back(text_of(one, "name"));
  Tree::List& all = pod["containers"].items();
  auto found = std::ranges::find_if(all, [&](const Tree& one) { return text_of(one, "name") == trains; });
  if (found == all.end()) found = all.begin();
  const Tree main = *found;
  all.erase(found);
  if (!all.empty()) {
    std::vector<std::string> names;
    for (Tree& one : all) {
      names.push_back(base::printable(text_of(one, "name"), 80));
      one.set("restartPolicy", "Always");
      job.sidecars.push_back(text_of(one, "name"));
      pod["initContainers"].push(one);
    }
    spec.note("containers", fmt::format("{} run{} next to {} until it ends, which needs Kubernetes 1.29",
                                        base::join(names, ", "), names.size() == 1 ? "s" : "",
                                        base::printable(text_of(main, "name"), 80)));
  }
  pod.set("containers", Tree(Tree::List{main}));
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

Role role_from(TrainFields fields, const RoleOptions& options, TrainJob& job) {
  Role role{.name = options.name, .replicas = static_cast<int>(options.replicas)};
  TrainFields metadata = fields.below("metadata");
  if (const Tree* labels = metadata.use("labels")) role.labels = *labels;
  if (const Tree* annotations = metadata.use("annotations")) role.annotations = *annotations;
  metadata.note("name", "pods are named after the job");
  metadata.note("namespace", "pods are in the namespace of the job");
  (void)metadata.use("creationTimestamp");
  metadata.end();
  TrainFields spec = fields.below("spec");
  fields.end();
  (void)spec.use("restartPolicy");
  if (spec.text("schedulerName", "default-scheduler") != "default-scheduler")
    spec.refuse("schedulerName", "gpuadm creates pods for the scheduler of Kubernetes");
  const Tree* containers = spec.use("containers");
  if (!containers || containers->items().empty()) {
    spec.problem("no containers");
    return role;
  }
  role.pod = spec.map();
  role.pod.erase("restartPolicy");
  separate_sidecars(role.pod, options.container, spec, job);
  Tree& container = role.pod["containers"].items().front();
  if (!options.image.empty()) container.set("image", options.image);
  if (!container.find("image"))
    spec.refuse("containers", "the container has no image; specify one with --image");
  role.gpus = take_gpus(container, spec);
  return role;
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
  if (fields.flag("suspend")) fields.refuse("suspend", "a suspended job does not start; remove this field");
  if (const std::string manager = fields.text("managedBy"); !is_own_controller(manager))
    fields.refuse("managedBy", "another controller is responsible for the job");
  TrainFields scheduling = fields.below("schedulingPolicy");
  for (const char* key : {"minAvailable", "minResources", "scheduleTimeoutSeconds"})
    scheduling.note(key, "gpuadm starts all ranks or none, within the time of --wait");
  for (const char* key : {"queue", "priorityClass"})
    scheduling.note(key, "there is no queue: gpuadm starts the job now or refuses it");
  scheduling.end();
}

void merge_equal_roles(TrainJob& job) {
  if (job.roles.size() < 2) return;
  const Role& first = job.roles.front();
  for (const Role& role : job.roles)
    if (!(role.pod == first.pod) || !(role.labels == first.labels) ||
        !(role.annotations == first.annotations) || role.gpus.form != first.gpus.form ||
        role.gpus.count != first.gpus.count || role.gpus.profile != first.gpus.profile)
      return;
  Role merged = first;
  merged.name = "worker";
  merged.replicas = job.ranks();
  job.roles = {merged};
}

int processes_of(TrainFields& fields, std::string_view key, const TrainJob& job) {
  const std::string text = fields.text(key, "");
  if (text.empty() || text == "auto" || text == "gpu")
    return job.roles.empty() ? 1 : processes_for(job.roles.back().gpus);
  if (text == "cpu") {
    fields.refuse(key, "the number of CPUs differs between nodes; specify a number");
    return 1;
  }
  return static_cast<int>(fields.number(key, 1));
}

void add_variable(TrainJob& job, const std::string& name, const std::string& value) {
  for (Role& role : job.roles) {
    Tree* containers = role.pod.find("containers");
    if (!containers || containers->items().empty()) continue;
    Tree& container = containers->items().front();
    const Tree* list = container.find("env");
    const bool has = list && std::ranges::any_of(list->items(), [&](const Tree& one) {
                       return text_of(one, "name") == name;
                     });
    if (!has) container["env"].push(Tree::map_of({{"name", name}, {"value", value}}));
  }
}

}  // namespace workload
