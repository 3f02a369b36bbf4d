#include "gpuadm/base/text.hpp"

#include "workload/train/train_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

/// PyTorchJob, TFJob and JAXJob: https://github.com/kubeflow/training-operator (release-1.9). When they have
/// succeeded: UpdateJobStatus in pkg/controller.v1/*/*_controller.go.
namespace workload {

namespace {

using base::Tree;

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

/// Programs that do not end by themselves: they wait for rank 0 to use their pods.
bool idles(const Role& role) {
  const Tree* containers = role.pod.find("containers");
  if (!containers || containers->items().empty()) return false;
  std::string text;
  for (const char* key : {"command", "args"})
    if (const Tree* words = containers->items().front().find(key))
      for (const Tree& word : words->items()) text += word.text() + " ";
  return std::ranges::any_of(std::array{"sleep inf", "sshd", "tail -f", "while true", "while :"},
                             [&](const char* program) { return text.contains(program); });
}

/// The other roles end with the one that decides.
void follow(const std::string& deciding, const char* field, const std::string& name, TrainFields& spec,
            TrainJob& job) {
  bool any = false;
  for (Role& role : job.roles) {
    role.ends_with_job = role.name != deciding;
    any = any || role.ends_with_job;
  }
  if (any)
    spec.note(field,
              fmt::format("the job ends with its {}; gpuadm ends the others while it is attached, or with "
                          "gpuadm train stop",
                          name));
}

}  // namespace

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

void read_pytorch(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Master", "master"}, ReplicaKind{"Worker", "worker"}};
  job.port = 23456;
  const long long restarts = base::to_int(text_at(spec.map(), {"elasticPolicy", "maxRestarts"})).value_or(0);
  job.restarts = std::max<int>(job.restarts.value_or(0), static_cast<int>(std::clamp(restarts, 0LL, 1000LL)));
  read_replicas(spec.below("pytorchReplicaSpecs"), kinds, "pytorch", context, job);
  if (!job.roles.empty() && job.roles.front().name == "master" && job.roles.front().replicas != 1)
    spec.problem("more than one Master");
  read_port("pytorchjob-port", job);
  job.processes = processes_of(spec, "nprocPerNode");
  if (spec.has("elasticPolicy") && !job.roles.empty()) read_elastic(spec.below("elasticPolicy"), job);
  (void)spec.use("elasticPolicy");
  // Ranks with the same program end at the same time.
  if (std::ranges::none_of(job.roles, idles)) merge_equal_roles(job);
  if (has_role(job, "master")) follow("master", "pytorchReplicaSpecs", "master", spec, job);
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
  const std::string policy = text_of(spec.map(), "successPolicy");
  follow(has_chief ? "chief" : "worker", "tfReplicaSpecs", has_chief ? "chief" : "workers", spec, job);
  if (!has_chief && policy != "AllWorkers" && has_role(job, "worker") && job.roles.front().replicas > 1)
    spec.note("tfReplicaSpecs",
              "the operator ends the job with worker 0; gpuadm waits until all workers have ended");
  spec.note("successPolicy",
            has_chief ? "the job succeeds if its chief does" : "the job succeeds if all of its workers do");
  if (spec.flag("enableDynamicWorker")) spec.refuse("enableDynamicWorker", "the number of ranks is fixed");
}

void read_jax(TrainFields& spec, const ReadContext& context, TrainJob& job) {
  static constexpr std::array kinds = {ReplicaKind{"Worker", "worker"}};
  job.port = 6666;
  read_replicas(spec.below("jaxReplicaSpecs"), kinds, "jax", context, job);
  read_port("jaxjob-port", job);
  job.processes = 0;
  // pkg/controller.v1/jax/envvar.go
  add_variable(job, "COORDINATOR_ADDRESS", "$(MASTER_ADDR)");
  add_variable(job, "COORDINATOR_PORT", std::to_string(job.port));
  add_variable(job, "NUM_PROCESSES", std::to_string(job.ranks()));
  add_variable(job, "PROCESS_ID", "$(RANK)");
}

}  // namespace workload
