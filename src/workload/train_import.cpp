#include "gpuadm/workload/train_import.hpp"

#include "gpuadm/base/text.hpp"

#include "workload/train_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

/// A kind of replicas in a manifest, and the name of the role in TF_CONFIG.
struct ReplicaKind {
  const char *key, *role;
};

/// https://www.kubeflow.org/docs/components/trainer/legacy-v1/user-guides/
void read_replicas(TrainFields fields, std::span<const ReplicaKind> kinds, const std::string& image,
                   TrainJob& job) {
  for (const ReplicaKind& kind : kinds) {
    if (!fields.has(kind.key)) continue;
    TrainFields replica = fields.below(kind.key);
    const long long count = replica.number("replicas", 1);
    if (const std::string policy = replica.text("restartPolicy", "Never"); policy != "Never")
      replica.note("restartPolicy", "a rank that fails ends the job; continue it with gpuadm train resume");
    job.roles.push_back(role_from(replica.below("template"), kind.role, count, image));
    replica.end();
  }
  if (job.roles.empty()) fields.problem("no replicas");
  fields.end();
}

void read_pytorch(TrainFields& spec, const std::string& image, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Master", "master"}, ReplicaKind{"Worker", "worker"}};
  read_replicas(spec.below("pytorchReplicaSpecs"), kinds, image, job);
  if (!job.roles.empty() && job.roles.front().name == "master" && job.roles.front().replicas != 1)
    spec.problem("more than one Master");
  job.processes = processes_of(spec, "nprocPerNode", job);
  job.port = 23456;
  spec.refuse("elasticPolicy", "gpuadm starts a fixed number of ranks; use a number of replicas");
}

void read_tensorflow(TrainFields& spec, const std::string& image, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Chief", "chief"}, ReplicaKind{"Master", "chief"},
                                       ReplicaKind{"PS", "ps"}, ReplicaKind{"Worker", "worker"},
                                       ReplicaKind{"Evaluator", "evaluator"}};
  read_replicas(spec.below("tfReplicaSpecs"), kinds, image, job);
  job.framework = Framework::tensorflow;
  job.port = 2222;
  if (std::ranges::find(job.roles, "ps", &Role::name) != job.roles.end())
    spec.problem("parameter servers do not end by themselves, so the job would not end");
  spec.note("successPolicy", "the job succeeds if all ranks succeed");
  if (spec.flag("enableDynamicWorker")) spec.refuse("enableDynamicWorker", "the number of ranks is fixed");
}

/// https://github.com/kubeflow/mpi-operator/blob/master/pkg/apis/kubeflow/v2beta1/types.go
void read_mpi(TrainFields& spec, const std::string& image, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Launcher", "launcher"}, ReplicaKind{"Worker", "worker"}};
  read_replicas(spec.below("mpiReplicaSpecs"), kinds, image, job);
  job.framework = Framework::mpi;
  job.processes = static_cast<int>(spec.number("slotsPerWorker", 1));
  job.launcher_works = spec.flag("runLauncherAsWorker") || job.roles.size() == 1;
  if (job.roles.empty() || job.roles.front().name != "launcher" || job.roles.front().replicas != 1)
    spec.problem("one Launcher is required");
  if (const std::string name = spec.text("mpiImplementation", "OpenMPI");
      name != "OpenMPI" && name != "Intel" && name != "MPICH")
    spec.refuse("mpiImplementation", "not OpenMPI, Intel or MPICH");
  spec.note("sshAuthMountPath", "keys are in .ssh in the home directory of the user of the container");
  spec.note("launcherCreationPolicy", "the launcher waits until all workers answer");
  spec.note("cleanPodPolicy", "pods stay until gpuadm train stop, for their logs");
}

/// https://github.com/kubeflow/trainer/blob/master/pkg/apis/trainer/v1alpha1/trainjob_types.go
void read_train_job(TrainFields& spec, const std::string& image, TrainJob& job) {
  TrainFields trainer = spec.below("trainer");
  PodOptions options{.image = trainer.text("image", image)};
  if (!image.empty()) options.image = image;
  if (options.image.empty())
    trainer.problem("no image: it is in the runtime, which gpuadm does not read; specify it with --image");
  // Kubernetes expands variables in it, as in other manifests.
  Tree command = Tree::list();
  for (const char* key : {"command", "args"})
    if (const Tree* words = trainer.use(key))
      for (const Tree& word : words->items()) command.push(word.text());
  if (command.items().empty()) trainer.problem("no command");
  Tree pod = pod_of(options);
  if (!command.items().empty()) pod["containers"].items().front().set("command", std::move(command));
  if (const Tree* variables = trainer.use("env")) pod["containers"].items().front().set("env", *variables);
  if (const Tree* resources = trainer.use("resourcesPerNode"))
    pod["containers"].items().front().set("resources", *resources);
  // The same path as for pods of other manifests: it takes the GPUs out of the resources.
  const Tree whole = Tree::map_of({{"spec", pod}});
  job.roles = {role_from(trainer.of(whole), "worker", trainer.number("numNodes", 1), "")};
  job.processes = processes_of(trainer, "numProcPerNode", job);
  trainer.end();
  spec.note("runtimeRef", "the runtime is not read: image, command and resources are those of spec.trainer");
  spec.refuse("initializer", "gpuadm does not download data sets or models; use --storage");
  for (const char* key : {"podTemplateOverrides", "podSpecOverrides", "runtimePatches"})
    spec.refuse(key, "overrides of a runtime are not supported");
  for (const char* key : {"labels", "annotations"}) spec.note(key, "labels of a JobSet are not used");
}

void read_job(TrainFields& spec, const std::string& image, TrainJob& job) {
  const long long completions = spec.number("completions", 1);
  const long long parallelism = spec.number("parallelism", completions);
  if (parallelism != completions)
    spec.refuse("parallelism", "differs from completions: all ranks of a training job run at the same time");
  if (completions > 1 && spec.text("completionMode", "NonIndexed") != "Indexed")
    spec.refuse("completions", "several pods without completionMode: Indexed have no ranks");
  (void)spec.use("completionMode");
  job.roles = {role_from(spec.below("template"), "worker", completions, image)};
  job.processes = processes_for(job.roles.front().gpus);
  for (const char* key : {"podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes"})
    spec.refuse(key, "a rank that fails ends the job");
  for (const char* key : {"selector", "manualSelector"})
    spec.refuse(key, "gpuadm selects pods by its labels");
  spec.note("podReplacementPolicy", "pods are not replaced");
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
  void (*read)(TrainFields&, const std::string& image, TrainJob&);
  bool has_run_policy;
};

constexpr std::array kinds = {
    Kind{"PyTorchJob", "kubeflow.org/", read_pytorch, true},
    Kind{"TFJob", "kubeflow.org/", read_tensorflow, true}, Kind{"MPIJob", "kubeflow.org/", read_mpi, true},
    Kind{"TrainJob", "trainer.kubeflow.org/", read_train_job, false}, Kind{"Job", "batch/", read_job, false}};

const Kind* kind_of(const Tree& document) {
  const Tree *kind = document.find("kind"), *version = document.find("apiVersion");
  if (!kind || !version) return nullptr;
  const auto found = std::ranges::find_if(kinds, [&](const Kind& one) {
    return one.kind == kind->text() && version->text().starts_with(one.group);
  });
  return found == kinds.end() ? nullptr : &*found;
}

void read_metadata(TrainFields metadata, TrainJob& job) {
  job.name = metadata.text("name");
  if (job.name.empty() && metadata.has("generateName")) job.name = metadata.text("generateName") + "1";
  job.ns = metadata.text("namespace", "default");
  if (const auto valid = check_service_name("training job", job.name); !valid)
    metadata.problem(valid.error().what);
  if (const auto valid = check_namespace(job.ns); !valid) metadata.problem(valid.error().what);
  (void)metadata.use("creationTimestamp");
  for (const char* key : {"labels", "annotations", "generateName", "finalizers"})
    metadata.note(key, "objects get only the labels of gpuadm");
  metadata.end();
}

}  // namespace

bool is_train_manifest(const Tree& document) {
  return kind_of(document) != nullptr;
}

Result<TrainImport> import_train(const Tree& document, std::string_view source, const std::string& image) {
  const Kind* kind = kind_of(document);
  if (!kind) {
    const Tree *name = document.find("kind"), *version = document.find("apiVersion");
    return base::fail(
        Fault::spec,
        fmt::format("{}: not a training job: kind {}, apiVersion {}", source,
                    name ? base::printable(name->text(), 60) : "(none)",
                    version ? base::printable(version->text(), 60) : "(none)"),
        "PyTorchJob, TFJob, MPIJob (kubeflow.org), TrainJob (trainer.kubeflow.org), Job (batch)");
  }
  TrainImport import;
  import.kind = kind->kind;
  TrainJob& job = import.job;
  // Other systems do not distribute pods over nodes.
  job.placement = Placement::anywhere;
  TrainFields root(document, "", source, import);
  (void)root.use("apiVersion");
  (void)root.use("kind");
  (void)root.use("status");
  read_metadata(root.below("metadata"), job);
  TrainFields spec = root.below("spec");
  root.end();
  if (kind->has_run_policy) {
    TrainFields policy = spec.below("runPolicy");
    read_run_policy(policy, job);
    policy.end();
  } else {
    read_run_policy(spec, job);
  }
  kind->read(spec, image, job);
  refuse_variables(spec, job);
  spec.end();
  if (job.framework == Framework::plain) merge_equal_roles(job);
  if (job.roles.empty()) job.roles.push_back({});
  return import;
}

}  // namespace workload
