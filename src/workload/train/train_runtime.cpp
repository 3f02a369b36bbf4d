#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// TrainJob, and the runtimes that it refers to: https://github.com/kubeflow/trainer (v2.3,
/// manifests/base/runtimes and pkg/runtime/framework/plugins).
namespace workload {

namespace {

using base::Tree;

/// How a runtime starts its nodes.
enum class Policy { plain, torch, jax, mpi };

/// A runtime of Kubeflow Trainer, of which only the image is not known.
struct KnownRuntime {
  std::string_view name;
  Policy policy;
};
constexpr std::array known_runtimes = {
    KnownRuntime{"torch-distributed", Policy::torch}, KnownRuntime{"jax-distributed", Policy::jax},
    KnownRuntime{"mpi-distributed", Policy::mpi}, KnownRuntime{"deepspeed-distributed", Policy::mpi},
    KnownRuntime{"mlx-distributed", Policy::mpi}};

/// What a job gets from its runtime.
struct Runtime {
  Policy policy = Policy::plain;
  long long nodes = 1, processes = 0;  ///< processes: 0: one for each GPU
  int restarts = 0;
  bool launcher_works = true;
  Tree node, launcher;        ///< templates of pods; null: none
  std::string name = "node";  ///< of the job with `node`
};

const Tree* pod_template(const Tree& replicated_job) {
  return replicated_job.at({"template", "spec", "template"});
}

bool trains(const Tree& replicated_job) {
  const Tree* labels = replicated_job.at({"template", "metadata", "labels"});
  return (labels && text_of(*labels, "trainer.kubeflow.org/trainjob-ancestor-step") == "trainer") ||
         text_of(replicated_job, "name") == "node";
}

void read_policy(TrainFields policy, Runtime& runtime) {
  runtime.nodes = policy.number("numNodes", 1);
  if (policy.has("torch")) {
    runtime.policy = Policy::torch;
    TrainFields torch = policy.below("torch");
    (void)torch.use("numProcPerNode");
    torch.note("elasticPolicy", "the job runs with numNodes ranks");
    torch.end();
    runtime.processes = base::to_int(text_at(policy.map(), {"torch", "numProcPerNode"})).value_or(0);
  }
  if (policy.use("jax")) runtime.policy = Policy::jax;
  if (policy.has("mpi")) {
    TrainFields mpi = policy.below("mpi");
    runtime.policy = Policy::mpi;
    runtime.processes = mpi.number("numProcPerNode", 1);
    runtime.launcher_works = mpi.flag("runLauncherAsNode");
    if (mpi.text("mpiImplementation", "OpenMPI") != "OpenMPI")
      mpi.refuse("mpiImplementation", "Kubeflow Trainer starts only OpenMPI");
    mpi.note("sshAuthMountPath", "keys are in /etc/gpuadm/mpi, and ssh of the PATH uses them");
    mpi.end();
  }
  policy.end();
}

/// What else a job of a runtime has.
void read_job_fields(TrainFields& fields) {
  for (const char* key : {"name", "groupName"}) (void)fields.use(key);
  if (fields.count("replicas", 1) != 1) fields.refuse("replicas", "numNodes is the number of ranks");
  fields.note("dependsOn", "all ranks start at the same time");
  TrainFields job = fields.below("template");
  (void)job.use("metadata");
  TrainFields spec = job.below("spec");
  (void)spec.use("template");
  for (const char* key : {"parallelism", "completions", "completionMode"})
    spec.note(key, "numNodes is the number of ranks");
  for (const char* key :
       {"backoffLimit", "backoffLimitPerIndex", "activeDeadlineSeconds", "ttlSecondsAfterFinished"})
    spec.note(key, "has no effect");
  spec.end();
  job.end();
  fields.end();
}

/// A ClusterTrainingRuntime or a TrainingRuntime.
Runtime read_runtime(TrainFields root) {
  Runtime runtime;
  for (const char* key : {"apiVersion", "kind", "metadata", "status"}) (void)root.use(key);
  TrainFields spec = root.below("spec");
  read_policy(spec.below("mlPolicy"), runtime);
  spec.note("podGroupPolicy", "gpuadm starts all ranks or none");
  TrainFields set = spec.below("template");
  set.note("metadata", "there is no JobSet");
  TrainFields jobs = set.below("spec");
  if (const Tree* list = jobs.use("replicatedJobs"))
    for (const Tree& one : list->items()) {
      const std::string name = text_of(one, "name");
      const Tree* pod = pod_template(one);
      TrainFields fields =
          jobs.of(one, fmt::format("{}.replicatedJobs.{}", jobs.path(), base::printable(name, 60)));
      read_job_fields(fields);
      if (name == "launcher" && pod)
        runtime.launcher = *pod;
      else if (trains(one) && pod) {
        runtime.node = *pod;
        runtime.name = name;
      } else
        jobs.problem(one, fmt::format("replicatedJobs.{}", base::printable(name, 60)),
                     "only the jobs of the trainer are supported, no initializers");
    }
  TrainFields failure = jobs.below("failurePolicy");
  runtime.restarts = static_cast<int>(failure.count("maxRestarts", 0));
  failure.note("rules", "all ranks are started again after any failure");
  (void)failure.use("restartStrategy");
  failure.end();
  for (const char* key : {"network", "successPolicy", "startupPolicy"}) (void)jobs.use(key);
  if (runtime.node.is_null()) jobs.problem("no job node, and none with trainjob-ancestor-step: trainer");
  jobs.end();
  set.end();
  spec.end();
  root.end();
  return runtime;
}

/// The runtime of the job, with a problem if it is not known.
Runtime find_runtime(TrainFields& spec, const ReadContext& context) {
  TrainFields reference = spec.below("runtimeRef");
  const std::string name = reference.text("name");
  (void)reference.use("apiGroup");
  (void)reference.use("kind");
  reference.end();
  if (const auto own = context.runtimes.find(name); own != context.runtimes.end())
    return read_runtime(spec.of(*own->second, fmt::format("runtime {}", name)));
  const auto known = std::ranges::find(known_runtimes, std::string_view(name), &KnownRuntime::name);
  if (known != known_runtimes.end()) return {.policy = known->policy};
  const bool is_named = !name.empty();
  spec.problem(
      spec.map(), "runtimeRef",
      is_named
          ? fmt::format("the runtime {0} is not known: add it to the file, separated by ---: kubectl get "
                        "clustertrainingruntime {0} -o yaml",
                        base::printable(name, 80))
          : "no runtime is named");
  return {};
}

/// The pods of a runtime of which nothing else is known.
Tree usual_pod() {
  return Tree::map_of(
      {{"spec", Tree::map_of({{"containers", Tree(Tree::List{Tree::map_of({{"name", "node"}})})}})}});
}

/// The container of a template that trains, with what the job replaces in it.
Tree trained(TrainFields& trainer, Tree pod, const std::string& image) {
  Tree::List& all = pod["spec"]["containers"].items();
  const auto node = std::ranges::find_if(all, [](const Tree& one) { return text_of(one, "name") == "node"; });
  if (all.empty()) return pod;
  Tree& container = node == all.end() ? all.front() : *node;
  if (!image.empty()) container.set("image", image);
  for (const char* key : {"command", "args"})
    if (const Tree* words = trainer.use(key)) container.set(key, *words);
  if (const Tree* variables = trainer.use("env"))
    for (const Tree& one : variables->items()) {
      Tree& list = container["env"];
      std::erase_if(list.items(),
                    [&](const Tree& other) { return text_of(other, "name") == text_of(one, "name"); });
      list.push(one);
    }
  if (const Tree* resources = trainer.use("resourcesPerNode")) container.set("resources", *resources);
  return pod;
}

void add_jax(TrainJob& job) {
  add_variable(job, "JAX_NUM_PROCESSES", std::to_string(job.ranks()));
  add_variable(job, "JAX_PROCESS_ID", "$(RANK)");
  add_variable(job, "JAX_COORDINATOR_ADDRESS", fmt::format("$(MASTER_ADDR):{}", job.port));
}

/// The launcher is one of the nodes, unless the runtime says otherwise. mpirun runs on it.
void add_mpi_roles(TrainFields& trainer, const Runtime& runtime, long long nodes, const std::string& image,
                   TrainJob& job) {
  job.framework = Framework::mpi;
  job.launcher_works = runtime.launcher_works;
  const Tree launcher = trained(trainer, runtime.launcher, image);
  job.roles.push_back(role_from(trainer.of(launcher), {.name = "launcher", .container = "node"}, job));
  check_launcher(trainer, job.roles.front());
  read_ssh_port(trainer, job);
  const long long workers = runtime.launcher_works ? nodes - 1 : nodes;
  job.hosts.push_back(fmt::format("{}-launcher-0-0", job.name));
  for (long long i = 0; i < workers; ++i) job.hosts.push_back(fmt::format("{}-node-0-{}", job.name, i));
  if (workers == 0) return;
  const Tree node = trained(trainer, runtime.node, image);
  job.roles.push_back(
      role_from(trainer.of(node), {.name = "worker", .replicas = workers, .container = "node"}, job));
}

}  // namespace

void read_train_job(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  Runtime runtime = find_runtime(spec, context);
  job.restarts = std::max(job.restarts.value_or(0), runtime.restarts);
  TrainFields trainer = spec.below("trainer");
  const std::string own = trainer.text("image"), image = context.image.empty() ? own : context.image;
  const long long nodes = trainer.number("numNodes", runtime.nodes);
  const bool has_template = !runtime.node.is_null();
  if (image.empty() && !has_template)
    trainer.problem("no image: that of the runtime is not known; set image:, or specify it with --image");
  if (!has_template && runtime.policy != Policy::mpi && !trainer.has("command") && !trainer.has("args"))
    trainer.problem("no command");
  const bool is_mpi = runtime.policy == Policy::mpi;
  if (!has_template) runtime.node = usual_pod();
  if (is_mpi)
    runtime.launcher =
        with_overrides(spec, "launcher", runtime.launcher.is_null() ? runtime.node : runtime.launcher);
  runtime.node = with_overrides(spec, runtime.name, std::move(runtime.node));
  const std::array targets = {std::string_view(runtime.name), std::string_view("launcher")};
  check_overrides(spec, std::span(targets).first(is_mpi ? 2 : 1));
  const std::string placeholder = image.empty() && !has_template ? "missing" : image;
  if (is_mpi) {
    add_mpi_roles(trainer, runtime, nodes, placeholder, job);
  } else {
    const Tree pod = trained(trainer, runtime.node, placeholder);
    job.roles = {role_from(trainer.of(pod), {.name = "worker", .replicas = nodes, .container = "node"}, job)};
    for (long long i = 0; i < nodes; ++i) job.hosts.push_back(fmt::format("{}-node-0-{}", job.name, i));
  }
  job.processes = trainer.has("numProcPerNode") || runtime.processes <= 1
                      ? processes_of(trainer, "numProcPerNode")
                      : static_cast<int>(runtime.processes);
  (void)trainer.use("numProcPerNode");
  if (runtime.policy == Policy::jax) add_jax(job);
  trainer.end();
  spec.refuse("initializer", "gpuadm does not download data sets or models; use --storage");
  for (const char* key : {"labels", "annotations"}) spec.note(key, "labels of a JobSet are not used");
}

}  // namespace workload
