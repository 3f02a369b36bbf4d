#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "workload/train/train_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace workload {

namespace {

using base::Tree;

constexpr int meeting_seconds = 300;
/// mpirun refuses to run as root without them. The job may set them, too.
constexpr std::array root_permissions = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                         "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"};
/// What mpi.sh exports in addition to GPUADM_HOSTFILE.
constexpr std::array mpi_exports = {"OMPI_MCA_plm_rsh_args",      "OMPI_MCA_orte_default_hostfile",
                                    "PRTE_MCA_plm_ssh_args",      "PRTE_MCA_prte_default_hostfile",
                                    "HYDRA_LAUNCHER_EXEC",        "HYDRA_HOST_FILE",
                                    "I_MPI_HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_HOST_FILE"};

Tree variable(const std::string& name, const std::string& value) {
  return Tree::map_of({{"name", name}, {"value", value}});
}

Tree from_field(const std::string& name, const std::string& field) {
  return Tree::map_of(
      {{"name", name}, {"valueFrom", Tree::map_of({{"fieldRef", Tree::map_of({{"fieldPath", field}})}})}});
}

/// The name of the variable that the kubelet sets from a Service (kubernetes pkg/kubelet/envvars).
std::string service_variable(const std::string& service) {
  std::string name = base::replace_all(service, "-", "_");
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return "$(" + name + "_SERVICE_HOST)";
}

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
  std::string text = base::json::write(
      Tree::map_of({{"cluster", cluster}, {"task", Tree::map_of({{"type", type}, {"index", index}})}}), 0);
  if (!rank) text = base::replace_all(text, "\"index\":0", "\"index\":$(RANK)");
  return text;
}

}  // namespace

int service_port(const TrainJob& job) {
  return job.framework == Framework::mpi ? ssh_port : job.port;
}

std::vector<std::string> service_names(const TrainJob& job) {
  std::vector<std::string> names;
  if (job.ranks() == 1) return names;
  if (job.framework != Framework::tensorflow) return {job.name};
  for (int rank = 0; rank < job.ranks(); ++rank) names.push_back(fmt::format("{}-{}", job.name, rank));
  return names;
}

std::string address_of(const TrainJob& job, int rank, const TrainContext& context) {
  const std::vector<std::string> services = service_names(job);
  if (services.empty()) return "127.0.0.1";
  const std::string& service = services.at(services.size() == 1 ? 0 : static_cast<std::size_t>(rank));
  const auto known = context.addresses.find(service);
  return known == context.addresses.end() ? service_variable(service) : known->second;
}

Tree environment_of(const TrainJob& job, std::optional<int> rank, const TrainContext& context) {
  Tree list = Tree::list();
  const auto set = [&](const std::string& name, const std::string& value) {
    list.push(variable(name, value));
  };
  const bool alone = job.ranks() == 1;
  if (rank)
    set("RANK", std::to_string(*rank));
  else
    list.push(from_field("RANK", fmt::format("metadata.annotations['{}']", index_label)));
  set("WORLD_SIZE", std::to_string(job.ranks()));
  set("LOCAL_RANK", "0");
  set("LOCAL_WORLD_SIZE", "1");
  set("NODE_RANK", "$(RANK)");
  set("GROUP_RANK", "$(RANK)");
  list.push(from_field("GPUADM_POD_IP", "status.podIP"));
  // Some frameworks listen on MASTER_ADDR, so rank 0 gets its own address: here, or from rank.sh.
  if (rank == 0 && !alone)
    set("MASTER_ADDR", "$(GPUADM_POD_IP)");
  else
    set("MASTER_ADDR", address_of(job, 0, context));
  set("MASTER_PORT", std::to_string(job.port));
  set("PET_NNODES", std::to_string(job.ranks()));
  set("PET_NPROC_PER_NODE", std::to_string(job.processes));
  set("PET_NODE_RANK", "$(RANK)");
  set("PET_MASTER_ADDR", "$(MASTER_ADDR)");
  set("PET_MASTER_PORT", std::to_string(job.port));
  if (job.framework == Framework::tensorflow) set("TF_CONFIG", tf_config(job, rank, context));
  if (job.framework == Framework::mpi) {
    set("GPUADM_SLOTS", std::to_string(rank == 0 && !job.launcher_works ? 0 : job.processes));
    set("GPUADM_MEET", std::to_string(meeting_seconds));
    set("GPUADM_KEYS", std::string(keys_folder));
    set("GPUADM_MPI", std::string(mpi_folder));
    for (const char* name : root_permissions) set(name, "1");
  }
  if (rank) set("JOB_COMPLETION_INDEX", std::to_string(*rank));  // as in an Indexed Job
  if (!job.source.empty()) set("GPUADM_SOURCE", std::string(read_only_source));
  if (!job.checkpoints.empty()) set(checkpoint_variable, literal(job.checkpoints));
  set("GPUADM_ATTEMPT", "0");
  return list;
}

bool is_set_by_gpuadm(const TrainJob& job, std::string_view variable) {
  // A manifest names the folder for train resume in this way.
  if (variable == checkpoint_variable) return !job.checkpoints.empty();
  if (variable.starts_with("GPUADM_")) return true;
  if (std::ranges::find(root_permissions, variable) != root_permissions.end()) return false;
  if (job.framework == Framework::mpi && std::ranges::find(mpi_exports, variable) != mpi_exports.end())
    return true;
  const Tree set = environment_of(job, 0, {});
  return std::ranges::any_of(set.items(),
                             [&](const Tree& one) { return one.find("name")->text() == variable; });
}

}  // namespace workload
