#include "gpuadm/workload/train_import.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/queue.hpp"

#include "workload/train/train_fields.hpp"
#include "workload/train/train_names.hpp"
#include "workload/train/train_pod.hpp"
#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Tree;

void refuse_hosts(TrainFields& spec, const TrainJob& job) {
  if (const auto host = unknown_host(job))
    spec.problem(*host->at, "",
                 fmt::format("the job has no pod {}, only {} to {}", base::printable(host->name, 80),
                             job.hosts.front(), job.hosts.back()));
}

void refuse_variables(TrainFields& spec, const TrainJob& job) {
  for (const Role& role : job.roles) {
    const Tree* containers = role.pod.find("containers");
    const Tree* list = containers ? containers->items().front().find("env") : nullptr;
    if (!list) continue;
    for (const Tree& one : list->items())
      if (const std::string name = text_at(one, {"name"}); is_set_by_gpuadm(job, name))
        spec.problem(one, fmt::format("{}.env.{}", role.name, name), "gpuadm sets this variable itself");
  }
}

struct Kind {
  std::string_view kind, group;
  void (*read)(TrainFields&, const ReadContext&, TrainJob&);
  bool has_run_policy;
};

constexpr std::array kinds = {Kind{"PyTorchJob", "kubeflow.org/", read_pytorch, true},
                              Kind{"TFJob", "kubeflow.org/", read_tensorflow, true},
                              Kind{"MPIJob", "kubeflow.org/", read_mpi, true},
                              Kind{"JAXJob", "kubeflow.org/", read_jax, true},
                              Kind{"TrainJob", "trainer.kubeflow.org/", read_train_job, false},
                              Kind{"JobSet", "jobset.x-k8s.io/", read_job_set, false},
                              Kind{"Job", "batch/", read_job, false}};

const Kind* kind_of(const Tree& document) {
  const Tree *kind = document.find("kind"), *version = document.find("apiVersion");
  if (!kind || !version) return nullptr;
  const auto found = std::ranges::find_if(kinds, [&](const Kind& one) {
    return one.kind == kind->text() && version->text().starts_with(one.group);
  });
  return found == kinds.end() ? nullptr : &*found;
}

/// Labels by which Kueue finds a Job, https://kueue.sigs.k8s.io/docs/tasks/run/jobs/.
constexpr std::array queue_labels = {queue_label, std::string_view("kueue.x-k8s.io/priority-class")};

void read_metadata(TrainFields metadata, const std::string& suffix, TrainJob& job) {
  job.name = metadata.text("name");
  if (job.name.empty() && metadata.has("generateName")) job.name = metadata.text("generateName") + suffix;
  (void)metadata.use("generateName");
  job.ns = metadata.text("namespace", "default");
  if (const auto valid = check_service_name("training job", job.name); !valid)
    metadata.problem(valid.error().what);
  if (const auto valid = check_namespace(job.ns); !valid) metadata.problem(valid.error().what);
  TrainFields labels = metadata.below("labels");
  for (const std::string_view key : queue_labels)
    if (const std::string value = labels.text(key); !value.empty()) job.labels.set(key, value);
  const bool only_queues = job.labels.entries().size() == labels.map().entries().size();
  if (!only_queues)
    metadata.note("labels", "objects get the labels of gpuadm, and those of a queue of Kueue");
  for (const char* key : {"annotations", "finalizers"})
    metadata.note(key, "objects get only the annotations of gpuadm");
  metadata.end();
}

/// Labels by which Services and people find pods of the operators.
void add_operator_labels(const Kind& kind, TrainJob& job) {
  if (kind.group != "kubeflow.org/") return;
  for (Role& role : job.roles) {
    Tree labels = Tree::map_of({{"training.kubeflow.org/job-name", job.name}});
    if (job.framework == Framework::mpi)
      labels.set("training.kubeflow.org/job-role", role.name);
    else if (job.roles.size() > 1)
      labels.set("training.kubeflow.org/replica-type", role.name);
    if (!role.labels.is_null()) labels.merge(role.labels);
    role.labels = std::move(labels);
  }
}

/// Variables that the kubelet sets from Services which are neither of the job nor of the file.
void note_services(const TrainJob& job, TrainFields& spec, TrainImport& import) {
  std::vector<std::string> known;
  for (const TrainService& service : services_of(job)) known.push_back(service_variable(service.name));
  for (const Tree& one : job.companions)
    if (text_of(one, "kind") == "Service")
      known.push_back(service_variable(text_at(one, {"metadata", "name"})));
  for (const std::string& name : expanded_variables(job))
    if (name.ends_with("_SERVICE_HOST") && std::ranges::find(known, "$(" + name + ")") == known.end())
      import.notes.push_back(fmt::format(
          "{}: $({}) is the address of a Service that the file does not contain; it must exist before",
          spec.path(), base::printable(name, 80)));
}

/// Mounts of volumes that no pod has: the API server refuses such pods, after other objects exist.
void check_mounts(TrainFields& spec, const TrainJob& job) {
  for (const Role& role : job.roles) {
    const Tree* volumes = role.pod.find("volumes");
    for (const char* list : {"initContainers", "containers"}) {
      const Tree* all = role.pod.find(list);
      if (!all) continue;
      for (const Tree& container : all->items()) {
        const Tree* mounts = container.find("volumeMounts");
        if (!mounts || !mounts->is_list()) continue;
        for (const Tree& mount : mounts->items()) {
          const std::string name = text_of(mount, "name");
          const bool exists = volumes && std::ranges::any_of(volumes->items(), [&](const Tree& one) {
                                return text_of(one, "name") == name;
                              });
          if (!exists)
            spec.problem(mount, fmt::format("{}.{}.volumeMounts", base::printable(role.name, 40), list),
                         fmt::format("the pod has no volume {}", base::printable(name, 80)));
        }
      }
    }
  }
}

/// What gpuadm sets in pods of kinds whose controllers set nothing, and what Kueue makes of several Jobs.
void note_additions(const Kind& kind, TrainFields& spec, const TrainJob& job) {
  const bool is_plain = kind.group == "batch/" || kind.group == "jobset.x-k8s.io/";
  if (is_plain && job.ranks() > 1)
    spec.remark(
        "each pod also gets RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the PET_ variables of torchrun: "
        "its "
        "pods are the ranks of one job");
  const bool is_split = job.ranks() > 1 && form_of(job, base::Version{1, 36, 0}) == JobForm::one_per_rank;
  if (job.labels.find(queue_label) && job.queue.empty() && is_split)
    spec.remark(
        "each rank becomes a Job, and Kueue admits them one by one, not all at once; a rack that it requires "
        "is "
        "one for each rank");
}

}  // namespace

bool is_train_manifest(const Tree& document) {
  return kind_of(document) != nullptr;
}

Result<TrainImport> import_train(const std::vector<Tree>& documents, std::string_view source,
                                 const ImportOptions& options) {
  const std::vector<Tree> written = written_documents(documents);
  TrainImport import;
  TrainFile file = sort_documents(written, source, import);
  if (!file.job) return no_train_manifest(written, source);
  const Kind* kind = kind_of(*file.job);
  import.kind = kind->kind;
  TrainJob& job = import.job;
  job.queue = options.queue;
  // Other systems do not distribute pods over nodes.
  job.placement = Placement::anywhere;
  // Their programs find their checkpoints themselves.
  job.restarts = 0;
  job.companions = std::move(file.companions);
  TrainFields root(*file.job, "", source, import);
  const std::string version = root.text("apiVersion");
  (void)root.use("kind");
  (void)root.use("status");
  read_metadata(root.below("metadata"), options.suffix, job);
  TrainFields spec = root.below("spec");
  root.end();
  if (kind->has_run_policy) {
    TrainFields policy = spec.below("runPolicy");
    read_run_policy(policy, job);
    policy.end();
  }
  // Older manifests have the same fields in the spec.
  read_run_policy(spec, job);
  kind->read(spec, {version, options.image, file.runtimes}, job);
  if (*job.restarts > 0)
    spec.remark(fmt::format("while gpuadm is attached, it starts all ranks again at most {} time{}",
                            *job.restarts, *job.restarts == 1 ? "" : "s"));
  refuse_variables(spec, job);
  refuse_hosts(spec, job);
  spec.end();
  add_operator_labels(*kind, job);
  check_mounts(spec, job);
  if (import.problems.empty()) note_additions(*kind, spec, job);
  if (job.roles.empty()) job.roles.push_back({});
  note_services(job, spec, import);
  check_companions(job, source, import);
  return import;
}

}  // namespace workload
