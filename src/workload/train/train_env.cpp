#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "workload/train/train_names.hpp"
#include "workload/train/train_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace workload {

namespace {

using base::Tree;

constexpr int meeting_seconds = 300;
/// Set as the operators set it: lines of a program in Python arrive when they are printed. The job may set it
/// and root_permissions, too.
constexpr const char* unbuffered_variable = "PYTHONUNBUFFERED";
/// mpirun refuses to run as root without them.
constexpr std::array root_permissions = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                         "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"};
/// What mpi.sh exports, and the ranks of the processes that mpirun starts.
constexpr std::array mpi_exports = {"OMPI_MCA_plm_rsh_args",
                                    "OMPI_MCA_plm_rsh_no_tree_spawn",
                                    "OMPI_MCA_orte_default_hostfile",
                                    "OMPI_MCA_orte_fork_agent",
                                    "PRTE_MCA_plm_ssh_args",
                                    "PRTE_MCA_plm_ssh_no_tree_spawn",
                                    "PRTE_MCA_prte_default_hostfile",
                                    "PRTE_MCA_prte_fork_agent",
                                    "PRTE_MCA_odls_base_exec_agent",
                                    "HYDRA_LAUNCHER_EXEC",
                                    "HYDRA_HOST_FILE",
                                    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
                                    "I_MPI_HYDRA_HOST_FILE",
                                    "RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE"};

/// Variables in the order in which they refer to each other.
class Environment {
 public:
  void set(const std::string& name, const std::string& value) {
    list_.push(Tree::map_of({{"name", name}, {"value", value}}));
  }
  void set_from_field(const std::string& name, const std::string& field) {
    list_.push(Tree::map_of(
        {{"name", name}, {"valueFrom", Tree::map_of({{"fieldRef", Tree::map_of({{"fieldPath", field}})}})}}));
  }
  /// `rank`: nothing for the index of an Indexed Job.
  void set_rank(const std::string& name, std::optional<int> rank) {
    if (rank)
      set(name, std::to_string(*rank));
    else
      set_from_field(name, fmt::format("metadata.annotations['{}']", index_label));
  }
  [[nodiscard]] Tree take() { return std::move(list_); }

 private:
  Tree list_ = Tree::list();
};

/// TF_CONFIG: https://www.tensorflow.org/guide/distributed_training#TF_CONFIG. An evaluator is not part of
/// the cluster. The index of an Indexed Job is expanded by the kubelet.
std::string tf_config(const TrainJob& job, std::optional<int> rank, const TrainContext& context) {
  Tree cluster = Tree::map();
  std::string type;
  int first = 0, index = 0;
  for (const Role& role : job.roles) {
    if (rank && *rank >= first && *rank < first + role.replicas) {
      type = role.name;
      index = *rank - first;
    }
    for (int i = first; i < first + role.replicas && role.name != "evaluator"; ++i)
      cluster[role.name].push(fmt::format("{}:{}", address_of(job, i, context), job.port));
    first += role.replicas;
  }
  if (!rank) type = job.roles.front().name;
  std::string text =
      base::json::write(Tree::map_of({{"cluster", cluster},
                                      {"task", Tree::map_of({{"type", type}, {"index", index}})},
                                      {"environment", "cloud"}}),
                        0);
  if (!rank) text = base::replace_all(text, "\"index\":0", "\"index\":$(RANK)");
  return text;
}

}  // namespace

// kubernetes pkg/kubelet/envvars
std::string service_variable(const std::string& service) {
  std::string name = base::replace_all(service, "-", "_");
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return "$(" + name + "_SERVICE_HOST)";
}

std::string address_of(const TrainJob& job, int rank, const TrainContext& context) {
  const std::vector<TrainService> services = services_of(job);
  const auto service = std::ranges::find(services, std::optional(rank), &TrainService::rank);
  if (service == services.end()) return "127.0.0.1";
  const auto known = context.addresses.find(service->name);
  return known == context.addresses.end() ? service_variable(service->name) : known->second;
}

namespace {

/// mpirun gives each of its processes its rank. The number of a worker is not that, so it has another name.
void add_mpi(const TrainJob& job, std::optional<int> rank, const TrainContext& context, Environment& env) {
  env.set_rank("GPUADM_RANK", rank);
  env.set("GPUADM_RANKS", std::to_string(job.ranks()));
  env.set("GPUADM_LAUNCHER", address_of(job, 0, context));
  env.set("GPUADM_MAIN_PORT", std::to_string(job.port));
  const int own = ssh_port_of(job, rank.value_or(0)), other = ssh_port_of(job, rank == 0 ? 1 : 0);
  env.set("GPUADM_SSHD_PORT", std::to_string(own));
  env.set("GPUADM_SSH_PORT", std::to_string(other));
  if (rank && !job.hosts.empty())
    env.set("GPUADM_HOST",
            fmt::format("{}.{}.{}.svc", job.hosts.at(static_cast<std::size_t>(*rank)), job.name, job.ns));
  env.set("GPUADM_HOSTS", std::string(hosts_folder));
  env.set("GPUADM_HOSTS_FORM", job.hosts_form == HostsForm::hydra        ? "hydra"
                               : job.hosts_form == HostsForm::openmpi_v1 ? "openmpi-v1"
                                                                         : "openmpi");
  env.set("GPUADM_SLOTS",
          std::to_string(rank == 0 && !job.launcher_works ? 0 : job.processes_of(rank.value_or(0))));
  env.set("GPUADM_MEET", std::to_string(meeting_seconds));
  env.set("GPUADM_KEYS", std::string(keys_folder));
  env.set("GPUADM_MPI", std::string(mpi_folder));
  for (const char* name : root_permissions) env.set(name, "1");
}

void add_rendezvous(const TrainJob& job, std::optional<int> rank, const TrainContext& context,
                    Environment& env) {
  env.set_rank("RANK", rank);
  env.set("WORLD_SIZE", std::to_string(job.ranks()));
  env.set("LOCAL_RANK", "0");
  env.set("LOCAL_WORLD_SIZE", "1");
  env.set("NODE_RANK", "$(RANK)");
  env.set("GROUP_RANK", "$(RANK)");
  // Some frameworks listen on MASTER_ADDR, so rank 0 gets its own address: here, or from rank.sh.
  const bool is_own = rank == 0 && job.ranks() > 1;
  env.set("MASTER_ADDR", is_own ? "$(GPUADM_POD_IP)" : address_of(job, 0, context));
  env.set("MASTER_PORT", std::to_string(job.port));
  env.set("PET_NNODES", std::to_string(job.ranks()));
  env.set("PET_NPROC_PER_NODE", std::to_string(job.processes_of(rank.value_or(0))));
  env.set("PET_NODE_RANK", "$(RANK)");
  env.set("PET_MASTER_ADDR", "$(MASTER_ADDR)");
  env.set("PET_MASTER_PORT", std::to_string(job.port));
  // One process is not a cluster.
  if (job.framework == Framework::tensorflow && job.ranks() > 1)
    env.set("TF_CONFIG", tf_config(job, rank, context));
  if (rank) env.set("JOB_COMPLETION_INDEX", std::to_string(*rank));  // as in an Indexed Job
}

}  // namespace

Tree environment_of(const TrainJob& job, std::optional<int> rank, const TrainContext& context) {
  Environment env;
  env.set_from_field("GPUADM_POD_IP", "status.podIP");
  if (job.framework == Framework::mpi)
    add_mpi(job, rank, context, env);
  else
    add_rendezvous(job, rank, context, env);
  if (!job.source.empty()) env.set("GPUADM_SOURCE", std::string(read_only_source));
  if (!job.checkpoints.empty()) env.set(checkpoint_variable, literal(job.checkpoints));
  env.set("GPUADM_ATTEMPT", "0");
  env.set(unbuffered_variable, "1");
  return env.take();
}

bool is_set_by_gpuadm(const TrainJob& job, std::string_view variable) {
  // A manifest names the folder for train resume in this way.
  if (variable == checkpoint_variable) return !job.checkpoints.empty();
  if (variable.starts_with("GPUADM_")) return true;
  if (variable == unbuffered_variable ||
      std::ranges::find(root_permissions, variable) != root_permissions.end())
    return false;
  if (job.framework == Framework::mpi && std::ranges::find(mpi_exports, variable) != mpi_exports.end())
    return true;
  const Tree set = environment_of(job, 0, {});
  return std::ranges::any_of(set.items(),
                             [&](const Tree& one) { return one.find("name")->text() == variable; });
}

}  // namespace workload
