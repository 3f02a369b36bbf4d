#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/notebook/notebook.hpp"
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

Result<const Tree*> deployment_of(const std::vector<Tree>& objects, const NotebookOptions& options) {
  if (const Tree* deployment = object_of(objects, "Deployment")) return deployment;
  return base::fail(
      Fault::usage,
      fmt::format("the notebook {} was deleted; only its volume exists", shown_notebook(options)),
      fmt::format("to use the volume again: {}", command_for("create", options)));
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
  while (has_pods(TRY(cluster.client().get(
      {.kinds = {"pods"}, .ns = options.ns, .selector = selector_of_notebook(options)})))) {
    if (base::Clock::now() >= until)
      return base::fail(
          Fault::timeout,
          fmt::format("the pod of the notebook {} did not end within {}", shown_notebook(options),
                      base::human_seconds(static_cast<double>(session::end_of_pods.count()))),
          fmt::format("kubectl -n {} describe pods -l gpuadm.io/name={}", options.ns, options.name));
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

AwaitedPod awaited(const NotebookOptions& options) {
  return {options.ns, options.name, selector_of_notebook(options)};
}

/// The error of wait_ready. A pod that is kept can be inspected.
enum class Kept { yes, no };
base::Error not_ready(const NotebookOptions& options, base::Error error, Kept pod) {
  if (error.fault == Fault::interrupted) return error;
  error.what = fmt::format("the notebook {} does not become ready: {}", shown_notebook(options), error.what);
  if (pod == Kept::yes)
    error.hint = with_details(
        error.hint, explain_command({options.ns, options.name}, options.hosts, options.common.connection));
  return error;
}

/// Ends its pod, so that its GPUs are free. The volume is kept.
Result<Outcome> notebook_stop(const NotebookOptions& options, Io& io) {
  const auto cluster = TRY(reach_notebook(options, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, options));
  const Tree* deployment = TRY(deployment_of(objects, options));
  if (!is_stopped(*deployment))
    TRY(cluster->client().patch(options.ns, "deployment/" + options.name, replicas(0)));
  TRY(wait_stopped(*cluster, options));
  const NotebookVolumes volumes = volumes_of(objects);
  const std::string& volume = volumes.own.empty() ? volumes.foreign : volumes.own;
  io.out(fmt::format("the notebook {} is stopped; {}\n", shown_notebook(options),
                     volume.empty() ? "it had no volume for files"
                                    : fmt::format("its files are kept on the volume {}", volume)));
  return Outcome::done;
}

}  // namespace

Result<Outcome> notebook_url(const NotebookUrlOptions& options, Io& io) {
  const auto cluster = TRY(reach_notebook(options.notebook, session::Access::read_only, io));
  const auto objects = TRY(find_notebook(*cluster, options.notebook));
  const Tree* deployment = TRY(deployment_of(objects, options.notebook));
  if (is_stopped(*deployment))
    return base::fail(Fault::blocked,
                      fmt::format("the notebook {} is stopped", shown_notebook(options.notebook)),
                      command_for("start", options.notebook));
  const auto node = wait_ready(*cluster, awaited(options.notebook), options.timeout, io);
  if (!node) return std::unexpected(not_ready(options.notebook, node.error(), Kept::yes));
  return open_notebook(*cluster, options.notebook, options.port, io);
}

Result<Outcome> notebook_start(const NotebookStartOptions& options, Io& io) {
  const NotebookOptions& notebook = options.notebook;
  const auto cluster = TRY(reach_notebook(notebook, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, notebook));
  const Tree* deployment = TRY(deployment_of(objects, notebook));
  const std::string object = "deployment/" + notebook.name;
  const bool stopped = is_stopped(*deployment);
  if (stopped) {
    TRY(wait_stopped(*cluster, notebook));
    TRY(check_gpus(*cluster, *deployment));
    if (const Tree* pod = deployment->at({"spec", "template", "spec"}))
      TRY(check_claims_of_pod(claims_of_pod(*pod), notebook.ns, notebook.hosts, cluster->spec(),
                              cluster->client(), io));
    TRY(cluster->client().patch(notebook.ns, object, replicas(1)));
  }
  const auto node = wait_ready(*cluster, awaited(notebook), options.timeout, io);
  if (!node) {
    if (stopped) {
      const auto again =
          cluster->client().patch(notebook.ns, object, replicas(0), transport::Purpose::clean_up);
      io.err(again ? fmt::format("{} is stopped again\n", shown_notebook(notebook))
                   : fmt::format("cannot stop it again: {}\n", base::printable(again.error().what)));
    }
    return std::unexpected(not_ready(notebook, node.error(), stopped ? Kept::no : Kept::yes));
  }
  io.out(fmt::format("the notebook {} is ready on {}\n  {}\n", shown_notebook(notebook),
                     base::printable(*node), command_for("url", notebook)));
  return Outcome::done;
}

Command notebook_url_command() {
  return CommandRow<NotebookUrlOptions>{
      .name = "notebook url",
      .group = Group::workloads,
      .summary =
          "Print the address of a notebook with its token, and keep an SSH tunnel to it open until Ctrl-C",
      .options =
          [](Line& line, NotebookUrlOptions& options) {
            add_notebook(line, options.notebook);
            line.value("--local-port", options.port, "PORT",
                       "Port on this machine (default: any that is free)")
                .range(1, 65535);
            add_wait_timeout(line, options.timeout,
                             "Time limit until it is ready, if it is starting (default 600)");
          },
      .examples = {{"gpuadm notebook url anna -f cluster.yaml", "until Ctrl-C"}},
      .run = notebook_url};
}

Command notebook_stop_command() {
  return CommandRow<NotebookOptions>{
      .name = "notebook stop",
      .group = Group::workloads,
      .summary = "Stop a notebook: its GPUs are free, its volume is kept",
      .options = add_notebook,
      .examples = {{"gpuadm notebook stop anna -f cluster.yaml", "frees its GPUs"}},
      .run = notebook_stop};
}

Command notebook_start_command() {
  return CommandRow<NotebookStartOptions>{
      .name = "notebook start",
      .group = Group::workloads,
      .summary = "Start a stopped notebook",
      .options =
          [](Line& line, NotebookStartOptions& options) {
            add_notebook(line, options.notebook);
            add_wait_timeout(line, options.timeout, "Time limit until it is ready (default 1800)");
          },
      .examples = {{"gpuadm notebook start anna -f cluster.yaml", "with the same files"}},
      .run = notebook_start};
}

}  // namespace commands
