#include "workload/train/train_pod.hpp"

#include "gpuadm/base/text.hpp"

#include "workload/train/train_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr int last_port = 65'535;

Tree empty_volume(const std::string& name) {
  return Tree::map_of({{"name", name}, {"emptyDir", Tree::map()}});
}

Tree mount(const std::string& name, std::string_view path) {
  return Tree::map_of({{"name", name}, {"mountPath", path}});
}

bool has_item(const Tree& map, std::string_view list, std::string_view key, std::string_view value) {
  const Tree* items = map.find(list);
  if (!items) return false;
  return std::ranges::any_of(items->items(), [&](const Tree& item) {
    const Tree* found = item.find(key);
    return found && found->text() == value;
  });
}

/// NCCL, and the loaders of PyTorch, need more shared memory than the 64 MiB of a container.
void add_shared_memory(Tree& spec, Tree& container) {
  if (const Tree* mounts = container.find("volumeMounts"))
    for (const Tree& one : mounts->items())
      if (plain_directory(text_at(one, {"mountPath"})) == "/dev/shm") return;
  append(spec, "volumes",
         Tree::map_of({{"name", "gpuadm-shm"}, {"emptyDir", Tree::map_of({{"medium", "Memory"}})}}));
  append(container, "volumeMounts", mount("gpuadm-shm", "/dev/shm"));
}

/// Variables of gpuadm come first, so that those of the job may refer to them; a variable of the job that
/// is_set_by_gpuadm does not refuse has precedence.
void add_environment(Tree& container, const Tree& ours) {
  Tree all = Tree::list();
  for (const Tree& one : ours.items())
    if (!has_item(container, "env", "name", one.find("name")->text())) all.push(one);
  if (const Tree* theirs = container.find("env"))
    for (const Tree& one : theirs->items()) all.push(one);
  container.set("env", std::move(all));
}

/// At most one rank of the job on a node.
void spread(const TrainJob& job, Tree& spec) {
  append(spec["affinity"]["podAntiAffinity"], "requiredDuringSchedulingIgnoredDuringExecution",
         Tree::map_of({{"labelSelector", Tree::map_of({{"matchLabels", labels_of(train_kind, job.name)}})},
                       {"topologyKey", "kubernetes.io/hostname"}}));
}

bool is_on_host_network(const Tree& pod) {
  const Tree* flag = pod.find("hostNetwork");
  return flag && flag->as_bool().value_or(false);
}

/// The scheduler puts no two pods with the same port of the host on a node.
void declare_ssh_port(int port, Tree& container) {
  if (!has_item(container, "ports", "containerPort", std::to_string(port)))
    append(container, "ports",
           Tree::map_of({{"name", "gpuadm-ssh"}, {"containerPort", port}, {"hostPort", port}}));
}

/// Objects show a script without its comments.
std::string without_comments(const std::string& script) {
  std::string text;
  for (const std::string_view line : base::lines(script))
    if (!base::trim(line).starts_with('#')) text += std::string(line) + "\n";
  return text;
}

/// Replaces the command by a script that ends with it.
Result<> wrap(const Role& role, Tree& container, const std::string& script) {
  const Tree* command = container.find("command");
  if (!command || command->items().empty())
    return base::fail(Fault::usage,
                      fmt::format("the pod of {} has no command, and the one in its image is not known",
                                  base::printable(role.name, 50)),
                      "set command: in the manifest, or -- COMMAND");
  Tree words = Tree::list_of({"/bin/sh", "-c", without_comments(script), "gpuadm"});
  for (const Tree& word : command->items()) words.push(word);
  container.set("command", std::move(words));
  return {};
}

/// A rank of an MPI job. mpirun on rank 0 starts what runs on the others.
Result<> wrap_mpi(const Role& role, std::optional<int> rank, Tree& container, const std::string& script) {
  if (!rank || *rank == 0) return wrap(role, container, script);
  container.set("command", Tree::list_of({"/bin/sh", "-c", without_comments(script), "gpuadm"}));
  container.erase("args");
  return {};
}

/// The folder of mpi-operator, and a folder for what SSH needs in each pod: its home directory may be on a
/// volume.
void add_mpi_folders(Tree& spec, Tree& container) {
  append(spec, "volumes", empty_volume("gpuadm-mpi"));
  append(container, "volumeMounts", mount("gpuadm-mpi", mpi_folder));
  append(spec, "volumes", empty_volume("gpuadm-hosts"));
  append(container, "volumeMounts", mount("gpuadm-hosts", hosts_folder));
}

void add_keys(const TrainJob& job, Tree& spec, Tree& container) {
  // Other users than root must read them; mpi.sh makes copies for SSH.
  append(spec, "volumes",
         Tree::map_of({{"name", "gpuadm-keys"},
                       {"secret", Tree::map_of({{"secretName", keys_name(job)}, {"defaultMode", 0444}})}}));
  Tree keys = mount("gpuadm-keys", keys_folder);
  keys.set("readOnly", true);
  append(container, "volumeMounts", std::move(keys));
}

/// The name of the pod with the operator of the manifest, by which commands find it.
void add_host(const TrainJob& job, int rank, const TrainContext& context, Tree& spec) {
  spec.set("hostname", job.hosts.at(static_cast<std::size_t>(rank)));
  spec.set("subdomain", job.name);
  const Tree aliases = host_aliases(job, rank, context);
  for (const Tree& alias : aliases.items()) append(spec, "hostAliases", alias);
}

void add_source(const TrainJob& job, Tree& spec, Tree& container) {
  Tree items = Tree::list();
  for (std::size_t i = 0; i < job.source.size(); ++i)
    items.push(Tree::map_of({{"key", fmt::format("f{}", i)},
                             {"path", job.source[i].path},
                             {"mode", job.source[i].executable ? 0755 : 0644}}));
  append(
      spec, "volumes",
      Tree::map_of({{"name", "gpuadm-source"},
                    {"configMap", Tree::map_of({{"name", source_name(job)}, {"items", std::move(items)}})}}));
  append(container, "volumeMounts", mount("gpuadm-source", read_only_source));
  append(spec, "volumes", empty_volume("gpuadm-workspace"));
  append(container, "volumeMounts", mount("gpuadm-workspace", source_folder));
  container.set("workingDir", source_folder);
}

}  // namespace

Tree labels_of(const TrainJob& job) {
  Tree labels = labels_of(train_kind, job.name);
  if (!job.instance.empty()) labels.set(instance_label, job.instance);
  return labels;
}

namespace {

Tree metadata_of(const TrainJob& job, const Role& role, std::optional<int> rank) {
  Tree labels = role.labels.is_null() ? Tree::map() : role.labels;
  labels.merge(labels_of(job));
  if (rank) labels.set(rank_label, std::to_string(*rank));
  Tree metadata = Tree::map_of({{"labels", std::move(labels)}});
  if (!role.annotations.is_null()) metadata.set("annotations", role.annotations);
  return metadata;
}

}  // namespace

void append(Tree& map, std::string_view key, Tree value) {
  map[key].push(std::move(value));
}

std::string keys_name(const TrainJob& job) {
  return job.name + "-ssh";
}

std::string source_name(const TrainJob& job) {
  return job.name + "-source";
}

int ssh_port_of(const TrainJob& job, int rank) {
  if (rank > 0 || !is_on_host_network(job.role_of(0).pod)) return job.ssh_port;
  return job.ssh_port < last_port ? job.ssh_port + 1 : job.ssh_port - 1;
}

std::string claims_name(const TrainJob& job, const Role& role) {
  return job.roles.size() == 1 ? job.name + "-gpus" : fmt::format("{}-{}-gpus", job.name, role.name);
}

Result<Tree> template_of(const TrainJob& job, std::optional<int> rank, const TrainContext& context) {
  const Role& role = job.role_of(rank.value_or(0));
  Tree spec = role.pod;
  spec.set("restartPolicy", "Never");
  Tree container = spec["containers"].items().at(0);
  const bool is_mpi = job.framework == Framework::mpi;
  if (is_mpi) {
    TRY(wrap_mpi(role, rank, container, context.scripts.mpi));
    add_mpi_folders(spec, container);
    if (job.ranks() > 1) add_keys(job, spec, container);
    if (job.ranks() > 1 && is_on_host_network(spec))
      declare_ssh_port(ssh_port_of(job, rank.value_or(0)), container);
  }
  if (rank && uses_hosts(job)) add_host(job, *rank, context, spec);
  const bool needs_address = !rank && job.ranks() > 1 && !is_mpi;
  if (needs_address || !job.source.empty()) TRY(wrap(role, container, context.scripts.rank));
  add_environment(container, environment_of(job, rank, context));
  add_shared_memory(spec, container);
  if (!job.source.empty()) add_source(job, spec, container);
  spec["containers"].items().at(0) = std::move(container);
  if (job.ranks() > 1 && job.placement == Placement::one_per_node) spread(job, spec);
  if (role.gpus.any())
    add_gpus(spec, parts_of(context.supply, role.gpus, claims_name(job, role), job.ns, labels_of(job)));
  return Tree::map_of({{"metadata", metadata_of(job, role, rank)}, {"spec", std::move(spec)}});
}

Tree pod_of(const PodOptions& options) {
  Tree container = Tree::map_of({{"name", "rank"}, {"image", options.image}});
  if (!options.command.empty()) container.set("command", literals(options.command));
  for (const auto& [name, value] : options.environment)
    append(container, "env", Tree::map_of({{"name", name}, {"value", literal(value)}}));
  Tree pod = Tree::map();
  // A request without a limit of CPUs: they are only shared if nodes are full.
  if (!options.cpus.empty()) container["resources"]["requests"].set("cpu", options.cpus);
  if (!options.memory.empty()) {
    container["resources"]["requests"].set("memory", options.memory);
    container["resources"]["limits"].set("memory", options.memory);
  }
  bool rdma = false;
  for (const auto& [name, count] : options.resources) {
    container["resources"]["limits"].set(name, count);
    rdma = rdma || name.starts_with("rdma/");
  }
  // RDMA registers memory, which is locked.
  if (rdma) container["securityContext"]["capabilities"].set("add", Tree::list_of({"IPC_LOCK"}));
  if (!options.shm.empty()) {
    append(pod, "volumes",
           Tree::map_of({{"name", "gpuadm-shm"},
                         {"emptyDir", Tree::map_of({{"medium", "Memory"}, {"sizeLimit", options.shm}})}}));
    append(container, "volumeMounts", mount("gpuadm-shm", "/dev/shm"));
  }
  for (std::size_t i = 0; i < options.volumes.size(); ++i) {
    const std::string name = fmt::format("storage-{}", i);
    append(
        pod, "volumes",
        Tree::map_of({{"name", name},
                      {"persistentVolumeClaim", Tree::map_of({{"claimName", options.volumes[i].claim}})}}));
    append(container, "volumeMounts", mount(name, options.volumes[i].path));
  }
  pod.set("containers", Tree(Tree::List{std::move(container)}));
  return pod;
}

}  // namespace workload
