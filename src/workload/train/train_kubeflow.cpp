#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

/// PyTorchJob, TFJob and MPIJob: https://github.com/kubeflow/training-operator (release-1.9) and
/// https://github.com/kubeflow/mpi-operator.
namespace workload {

namespace {

using base::Tree;

/// A kind of replicas in a manifest, and the name of the role in TF_CONFIG.
struct ReplicaKind {
  const char *key, *role;
};

bool has_role(const TrainJob& job, std::string_view name) {
  return std::ranges::find(job.roles, name, &Role::name) != job.roles.end();
}

/// The port with this name of the container that trains.
void read_port(std::string_view name, TrainJob& job) {
  for (const Role& role : job.roles) {
    const Tree* containers = role.pod.find("containers");
    const Tree* ports = containers ? containers->items().front().find("ports") : nullptr;
    if (!ports) continue;
    for (const Tree& port : ports->items()) {
      const auto number = base::to_int(text_of(port, "containerPort"));
      if (text_of(port, "name") == name && number && *number > 0 && *number <= 65'535)
        job.port = static_cast<int>(*number);
    }
  }
}

/// `container`: the name of the one that trains.
void read_replicas(TrainFields fields, std::span<const ReplicaKind> kinds, std::string_view container,
                   const ReadContext& context, TrainJob& job) {
  bool is_restarted = false;
  for (const ReplicaKind& kind : kinds) {
    if (!fields.has(kind.key)) continue;
    TrainFields replica = fields.below(kind.key);
    const long long count = replica.count("replicas", 1);
    if (replica.text("restartPolicy", "Never") != "Never") is_restarted = true;
    Role role = role_from(
        replica.below("template"),
        {.name = kind.role, .replicas = count, .image = context.image, .container = container}, job);
    replica.end();
    if (count == 0) continue;
    // A launcher has no number.
    const std::string host = fmt::format("{}-{}", job.name, base::lower(kind.key));
    for (long long i = 0; i < count; ++i)
      job.hosts.push_back(role.name == "launcher" ? host : fmt::format("{}-{}", host, i));
    job.roles.push_back(std::move(role));
  }
  if (job.roles.empty()) fields.problem("no replicas");
  // The operators create the pods of such replicas again; those of a launcher always.
  if (!is_restarted && !has_role(job, "launcher")) job.restarts = 0;
  if (is_restarted && job.restarts == 0) fields.remark(failure_note);
  fields.end();
}

/// Options of torchrun (PET_*), as the operator sets them.
void read_elastic(TrainFields elastic, TrainJob& job) {
  if (elastic.has("nProcPerNode")) job.processes = static_cast<int>(elastic.number("nProcPerNode", 1));
  const std::string backend = elastic.text("rdzvBackend", "c10d");
  std::string host = elastic.text("rdzvHost");
  if (host.empty() || (backend == "c10d" && std::ranges::find(job.hosts, host) != job.hosts.end()))
    host = "$(MASTER_ADDR)";
  if (elastic.has("rdzvPort")) job.port = static_cast<int>(elastic.number("rdzvPort", job.port));
  if (elastic.flag("standalone") && job.ranks() == 1) {
    add_variable(job, "PET_STANDALONE", "");
  } else {
    add_variable(job, "PET_RDZV_BACKEND", backend);
    add_variable(job, "PET_RDZV_ENDPOINT", fmt::format("{}:{}", host, job.port));
  }
  if (elastic.has("rdzvId")) add_variable(job, "PET_RDZV_ID", elastic.text("rdzvId"));
  std::vector<std::string> options;
  if (const Tree* list = elastic.use("rdzvConf"))
    for (const Tree& one : list->items())
      options.push_back(fmt::format("{}={}", text_of(one, "key"), text_of(one, "value")));
  if (!options.empty()) add_variable(job, "PET_RDZV_CONF", base::join(options, ","));
  if (const long long restarts = elastic.count("maxRestarts", 0); restarts > 0) {
    add_variable(job, "PET_MAX_RESTARTS", std::to_string(restarts));
    job.restarts = std::max(job.restarts.value_or(0), static_cast<int>(restarts));
  }
  for (const char* key : {"minReplicas", "maxReplicas"}) (void)elastic.use(key);
  elastic.remark(fmt::format("the job runs with {} rank{}, and their number does not change", job.ranks(),
                             job.ranks() == 1 ? "" : "s"));
  elastic.note("metrics", "the number of ranks is not scaled");
  elastic.end();
}

}  // namespace

void read_pytorch(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Master", "master"}, ReplicaKind{"Worker", "worker"}};
  job.port = 23456;
  const long long restarts = base::to_int(text_at(spec.map(), {"elasticPolicy", "maxRestarts"})).value_or(0);
  job.restarts = std::max<int>(job.restarts.value_or(0), static_cast<int>(std::clamp(restarts, 0LL, 1000LL)));
  read_replicas(spec.below("pytorchReplicaSpecs"), kinds, "pytorch", context, job);
  if (!job.roles.empty() && job.roles.front().name == "master" && job.roles.front().replicas != 1)
    spec.problem("more than one Master");
  read_port("pytorchjob-port", job);
  job.processes = processes_of(spec, "nprocPerNode", job);
  if (spec.has("elasticPolicy") && !job.roles.empty()) read_elastic(spec.below("elasticPolicy"), job);
  (void)spec.use("elasticPolicy");
}

void read_tensorflow(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  // Rank 0 decides whether the job has succeeded.
  static constexpr std::array kinds = {ReplicaKind{"Chief", "chief"}, ReplicaKind{"Master", "chief"},
                                       ReplicaKind{"Worker", "worker"}, ReplicaKind{"PS", "ps"},
                                       ReplicaKind{"Evaluator", "evaluator"}};
  job.framework = Framework::tensorflow;
  job.port = 2222;
  read_replicas(spec.below("tfReplicaSpecs"), kinds, "tensorflow", context, job);
  read_port("tfjob-port", job);
  const bool has_chief = has_role(job, "chief");
  if (!has_chief && !has_role(job, "worker")) spec.problem("neither a Chief nor a Worker, which would end");
  bool follows = false;
  for (Role& role : job.roles) {
    role.ends_with_job = has_chief ? role.name != "chief" : role.name != "worker";
    follows = follows || role.ends_with_job;
  }
  if (follows)
    spec.note(
        "tfReplicaSpecs",
        fmt::format("the job ends with its {}; gpuadm ends the others while it is attached, or with gpuadm "
                    "train stop",
                    has_chief ? "chief" : "workers"));
  spec.note("successPolicy",
            has_chief ? "the job succeeds if its chief does" : "the job succeeds if all of its workers do");
  if (spec.flag("enableDynamicWorker")) spec.refuse("enableDynamicWorker", "the number of ranks is fixed");
}

void check_launcher(TrainFields& fields, const Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return;
  const Tree& container = containers->items().front();
  const Tree *command = container.find("command"), *arguments = container.find("args");
  if ((command && !command->items().empty()) || (arguments && !arguments->items().empty())) return;
  fields.problem(container, role.name + ".containers[0]",
                 "the launcher has no command: set command:, such as [mpirun, ./solver]");
}

void read_mpi(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Launcher", "launcher"}, ReplicaKind{"Worker", "worker"}};
  job.framework = Framework::mpi;
  read_replicas(spec.below("mpiReplicaSpecs"), kinds, spec.text("mainContainer"), context, job);
  job.processes = static_cast<int>(spec.number("slotsPerWorker", 1));
  job.launcher_works = spec.flag("runLauncherAsWorker") || job.roles.size() == 1;
  if (job.roles.empty() || job.roles.front().name != "launcher" || job.roles.front().replicas != 1)
    spec.problem("one Launcher is required");
  else
    check_launcher(spec, job.roles.front());
  const std::string implementation = spec.text("mpiImplementation", "OpenMPI");
  if (implementation != "OpenMPI" && implementation != "Intel" && implementation != "MPICH")
    spec.refuse("mpiImplementation", "not OpenMPI, Intel or MPICH");
  job.hosts_form = implementation != "OpenMPI"                 ? HostsForm::hydra
                   : context.version == "kubeflow.org/v2beta1" ? HostsForm::openmpi
                                                               : HostsForm::openmpi_v1;
  spec.note("sshAuthMountPath", "keys are in /etc/gpuadm/mpi, and ssh of the PATH uses them");
  spec.note("launcherCreationPolicy", "the launcher waits until all workers answer");
}

}  // namespace workload
