#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/notebook/open_notebook.hpp"
#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/wait_ready.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

std::string selector(const NotebookOptions& options) {
  return workload::selector_of(workload::notebook_kind, options.name);
}

std::string shown(const NotebookOptions& options) {
  return options.space + "/" + options.name;
}

std::string command(const char* verb, const NotebookOptions& options) {
  return notebook_command(verb, options.name, options.space, options.hosts, options.common.connection);
}

Result<std::unique_ptr<ReachedCluster>> reach(const NotebookOptions& options, session::Access access,
                                              Io& io) {
  TRY(workload::check_name("notebook", options.name));
  TRY(workload::check_namespace(options.space));
  return ReachedCluster::open(options.hosts, options.common, access, io);
}

Result<const Tree*> deployment_of(const std::vector<Tree>& objects, const NotebookOptions& options) {
  if (const Tree* deployment = object_of(objects, "Deployment")) return deployment;
  return base::fail(Fault::usage,
                    fmt::format("the notebook {} was deleted; only its volume exists", shown(options)),
                    fmt::format("to use the volume again: {}", command("create", options)));
}

bool is_stopped(const Tree& deployment) {
  const Tree* replicas = deployment.at({"spec", "replicas"});
  return replicas && replicas->as_int() == 0;
}

Tree replicas(int count) {
  return Tree::map_of({{"spec", Tree::map_of({{"replicas", count}})}});
}

bool has_pods(const std::vector<Tree>& objects) {
  return object_of(objects, "Pod") != nullptr;
}

/// Until no pod is left: its GPUs are free then.
Result<> wait_stopped(ReachedCluster& cluster, const NotebookOptions& options) {
  const base::Instant until = base::Clock::now() + session::end_of_pods;
  while (has_pods(TRY(
      cluster.client().get({.kinds = {"pods"}, .space = options.space, .selector = selector(options)})))) {
    if (base::Clock::now() >= until)
      return base::fail(
          Fault::timeout,
          fmt::format("the pod of the notebook {} did not end within {}", shown(options),
                      base::human_seconds(static_cast<double>(session::end_of_pods.count()))),
          fmt::format("kubectl -n {} describe pods -l gpuadm.io/name={}", options.space, options.name));
    TRY(cluster.pause(std::chrono::milliseconds(500)));
  }
  return {};
}

/// Whether its GPUs are free, as when it was created.
Result<> check_gpus(ReachedCluster& cluster, const Tree& deployment) {
  const Tree* annotations = deployment.at({"metadata", "annotations"});
  const Tree* gpus = annotations ? annotations->find(workload::gpus_annotation) : nullptr;
  if (!gpus) return {};
  const auto request = TRY(workload::parse_gpus("annotation gpuadm.io/gpus", gpus->text()));
  if (!request.any()) return {};
  const auto supply = TRY(workload::supply_of(TRY(cluster.client().read_nodes_and_pods())));
  return workload::check_fit(supply, request, 1, workload::Placement::anywhere);
}

/// The volume that was created with the notebook, and those that it only mounts.
struct Volumes {
  std::string own, size, foreign;
};

Volumes volumes_of(const std::vector<Tree>& objects) {
  Volumes volumes;
  if (const Tree* claim = object_of(objects, "PersistentVolumeClaim")) {
    volumes.own = base::printable(text_at(*claim, {"metadata", "name"}), 300);
    volumes.size = base::printable(text_at(*claim, {"spec", "resources", "requests", "storage"}), 50);
  }
  for (const workload::WorkloadRow& row : workload::workload_rows(objects))
    if (row.volume != volumes.own) volumes.foreign = row.volume;
  return volumes;
}

/// Whether the own volume is deleted too.
Result<bool> decide(const NotebookDeleteOptions& options, const Volumes& volumes, const Io& io) {
  if (volumes.own.empty() || options.volume == VolumeFate::keep) return false;
  if (options.volume == VolumeFate::purge) return true;
  const auto answer = io.confirm(fmt::format("Also delete the volume {}/{} ({}) with all files in it?",
                                             options.notebook.space, volumes.own, volumes.size));
  if (!answer)
    return base::fail(Fault::usage,
                      fmt::format("the notebook {} has a volume with files", shown(options.notebook)),
                      "add --keep-volume to keep it, or --purge to delete it");
  return *answer;
}

AwaitedPod awaited(const NotebookOptions& options) {
  return {options.space, options.name, selector(options)};
}

/// The error of wait_ready. A pod that is kept can be inspected.
enum class Kept { yes, no };
base::Error not_ready(const NotebookOptions& options, base::Error error, Kept pod) {
  if (error.fault == Fault::interrupted) return error;
  error.what = fmt::format("the notebook {} does not become ready: {}", shown(options), error.what);
  if (pod == Kept::yes)
    error.hint = with_details(
        error.hint, explain_command({options.space, options.name}, options.hosts, options.common.connection));
  return error;
}

bool uses_claims(const std::vector<Tree>& objects) {
  const Tree* deployment = object_of(objects, "Deployment");
  return deployment && deployment->at({"spec", "template", "spec", "resourceClaims"});
}

}  // namespace

Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io) {
  const auto cluster = TRY(reach(options.notebook, session::Access::read_only, io));
  const auto objects = TRY(find_notebook(*cluster, options.notebook));
  const Tree* deployment = TRY(deployment_of(objects, options.notebook));
  if (is_stopped(*deployment))
    return base::fail(Fault::blocked, fmt::format("the notebook {} is stopped", shown(options.notebook)),
                      command("start", options.notebook));
  const auto node = wait_ready(*cluster, awaited(options.notebook), options.patience, io);
  if (!node) return std::unexpected(not_ready(options.notebook, node.error(), Kept::yes));
  return open_notebook(*cluster, options.notebook, options.port, io);
}

Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io) {
  const NotebookOptions& notebook = options.notebook;
  const auto cluster = TRY(reach(notebook, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, notebook));
  const Tree* deployment = TRY(deployment_of(objects, notebook));
  const std::string object = "deployment/" + notebook.name;
  const bool stopped = is_stopped(*deployment);
  if (stopped) {
    TRY(wait_stopped(*cluster, notebook));
    TRY(check_gpus(*cluster, *deployment));
    if (const Tree* pod = deployment->at({"spec", "template", "spec"}))
      TRY(check_claims_of_pod(claims_of_pod(*pod), notebook.space, notebook.hosts, cluster->spec(),
                              cluster->client(), io));
    TRY(cluster->client().patch(notebook.space, object, replicas(1)));
  }
  const auto node = wait_ready(*cluster, awaited(notebook), options.patience, io);
  if (!node) {
    if (stopped) {
      const auto again =
          cluster->client().patch(notebook.space, object, replicas(0), transport::Purpose::clean_up);
      io.err(again ? fmt::format("{} is stopped again\n", shown(notebook))
                   : fmt::format("cannot stop it again: {}\n", base::printable(again.error().what)));
    }
    return std::unexpected(not_ready(notebook, node.error(), stopped ? Kept::no : Kept::yes));
  }
  io.out(fmt::format("the notebook {} is ready on {}\n  {}\n", shown(notebook), base::printable(*node),
                     command("url", notebook)));
  return Outcome::done;
}

Result<Outcome> notebook_stop(const NotebookOptions& options, Io& io) {
  const auto cluster = TRY(reach(options, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, options));
  const Tree* deployment = TRY(deployment_of(objects, options));
  if (!is_stopped(*deployment))
    TRY(cluster->client().patch(options.space, "deployment/" + options.name, replicas(0)));
  TRY(wait_stopped(*cluster, options));
  const Volumes volumes = volumes_of(objects);
  const std::string& volume = volumes.own.empty() ? volumes.foreign : volumes.own;
  io.out(fmt::format("the notebook {} is stopped; {}\n", shown(options),
                     volume.empty() ? "it had no volume for files"
                                    : fmt::format("its files are kept on the volume {}", volume)));
  return Outcome::done;
}

Result<Outcome> notebook_delete(const NotebookDeleteOptions& options, Io& io) {
  const NotebookOptions& notebook = options.notebook;
  const auto cluster = TRY(reach(notebook, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, notebook));
  const Volumes volumes = volumes_of(objects);
  const bool purge = TRY(decide(options, volumes, io));
  const Tree* claim = purge ? object_of(objects, "PersistentVolumeClaim") : nullptr;
  const auto on_storage =
      claim ? TRY(claim_of_notebook(*claim, notebook.hosts, *cluster)) : std::optional<ClaimPlan>();
  TRY(remove_notebook(*cluster, notebook.space, selector(notebook),
                      uses_claims(objects) ? workload::GpuClaims::yes : workload::GpuClaims::no,
                      purge ? workload::OwnVolume::deleted : workload::OwnVolume::kept));
  if (on_storage) TRY(remove_volume(*on_storage, ClaimFiles::deleted, cluster->client()));
  io.out(fmt::format("the notebook {} is deleted{}\n", shown(notebook),
                     purge ? ", with its volume " + volumes.own : ""));
  if (!purge && !volumes.own.empty())
    io.out(fmt::format("the volume {}/{} ({}) is kept; a new notebook {} uses it, {} --purge deletes it\n",
                       notebook.space, volumes.own, volumes.size, notebook.name,
                       command("delete", notebook)));
  if (!volumes.foreign.empty())
    io.out(
        fmt::format("the volume {}/{}, which it mounted, is not changed\n", notebook.space, volumes.foreign));
  return Outcome::done;
}

}  // namespace commands
