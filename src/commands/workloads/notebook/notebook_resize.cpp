#include "gpuadm/base/text.hpp"
#include "gpuadm/session/replace.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/service/create.hpp"
#include "commands/workloads/service/replace.hpp"
#include "commands/workloads/service/verbs.hpp"
#include "commands/workloads/storage/claim_folders.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

struct NotebookResizeOptions {
  NamedService notebook;
  std::string gpus, cpus, memory, shm;  ///< empty: as it is
  std::chrono::seconds timeout{1800};
  Consent consent = Consent::ask;
};

/// What was requested for it, and will be.
struct Resize {
  workload::NotebookRequest from, to;
  std::string lines;  ///< a line for each difference; empty: none
};

void add_line(std::string& lines, const char* what, const std::string& from, const std::string& to) {
  const auto or_none = [](const std::string& value) { return value.empty() ? "no limit" : value; };
  if (from != to)
    lines += fmt::format("  {}: {} -> {}\n", what, base::printable(or_none(from), 80), or_none(to));
}

Resize resize_of(const Tree& deployment, const NotebookResizeOptions& options) {
  Resize resize;
  resize.from = workload::request_of(deployment);
  resize.to = resize.from;
  if (!options.gpus.empty()) resize.to.gpus = options.gpus;
  if (!options.cpus.empty()) resize.to.cpus = options.cpus;
  if (!options.memory.empty()) resize.to.memory = options.memory;
  // As when it is created, /dev/shm follows the memory.
  if (!options.shm.empty() || !options.memory.empty()) resize.to.shm = options.shm;
  add_line(resize.lines, "GPUs", resize.from.gpus, resize.to.gpus);
  add_line(resize.lines, "CPUs", resize.from.cpus, resize.to.cpus);
  add_line(resize.lines, "memory", resize.from.memory, resize.to.memory);
  if (!options.shm.empty()) add_line(resize.lines, "/dev/shm", resize.from.shm, resize.to.shm);
  return resize;
}

Result<> confirm(const NotebookResizeOptions& options, const Resize& resize, bool stopped, const Io& io) {
  io.err(fmt::format("the {} will change:\n{}", with_noun(options.notebook), resize.lines));
  if (stopped || options.consent == Consent::given) return {};
  io.err(
      "it is stopped and started again for this: its kernels and terminals end, files that are not on its "
      "volume are lost\n");
  const auto yes =
      io.confirm ? io.confirm(fmt::format("Resize the {}?", with_noun(options.notebook))) : std::nullopt;
  if (yes == true) return {};
  return base::fail(Fault::blocked, fmt::format("the {} was not changed", with_noun(options.notebook)),
                    yes ? "" : "add -y to resize it");
}

/// The live Deployment with the new sizes, if the cluster has enough for them.
Result<Tree> plan_resize(const NotebookResizeOptions& options, const Resize& resize,
                         const std::vector<Tree>& objects, const Tree& live, ReachedCluster& cluster,
                         const Io& io) {
  ServicePlan plan = TRY(plan_notebook(resize.to, options.notebook.hosts, cluster, pod_names(objects)));
  if (resize.from.gpus != resize.to.gpus &&
      (plan.parts.claim_template || live.at({"spec", "template", "spec", "resourceClaims"})))
    return base::fail(Fault::blocked, "GPUs that are requested by claims cannot be changed",
                      command_for("delete", options.notebook) + " --keep-volume, and create it again");
  TRY(check_service(plan, 1, options.notebook.hosts, cluster, NameUse::updated));
  if (const std::string note = workload::note_of_share(plan.supply, plan.pod.gpus); !note.empty())
    io.err(note + "\n");
  const auto made = workload::objects_of(plan.pod, plan.parts, base::Secret());
  return workload::resized(live, *object_of(made, "Deployment"));
}

/// The earlier sizes, after it did not become ready with the new ones.
void restore(const Tree& live, const NamedService& notebook, ReachedCluster& cluster, const Io& io) {
  const auto done =
      session::replace(cluster.client(), {workload::restored(live)}, transport::Purpose::clean_up);
  io.err(done ? fmt::format("{} has its earlier size again\n", shown(notebook))
              : fmt::format("cannot restore the earlier size of {}: {}\n", shown(notebook),
                            base::printable(done.error().what)));
}

/// Stops a notebook, gives it other GPUs, processors or memory, and starts it again. One that is stopped
/// stays so. It has its earlier size again if it does not become ready.
Result<Outcome> notebook_resize(const NotebookResizeOptions& options, Io& io) {
  const NamedService& notebook = options.notebook;
  if (options.gpus.empty() && options.cpus.empty() && options.memory.empty() && options.shm.empty())
    return base::fail(
        Fault::usage, "no new size is given",
        "add --gpus, --cpus, --memory or --shm: " + command_for("resize", notebook) + " --gpus 2");
  TRY(workload::make_notebook({.name = notebook.name,  // reports invalid sizes before it connects
                               .ns = notebook.ns,
                               .gpus = options.gpus.empty() ? "0" : options.gpus,
                               .cpus = options.cpus,
                               .memory = options.memory,
                               .shm = options.shm}));
  const auto cluster = TRY(reach_service(notebook, session::Access::full, io));
  const auto objects = TRY(find_service(*cluster, notebook));
  const Tree& live = *TRY(deployment_of(objects, notebook));
  const bool stopped = is_stopped(live);
  const Resize resize = resize_of(live, options);
  if (resize.lines.empty()) {
    io.out(fmt::format("the {} is as requested\n", with_noun(notebook)));
    return Outcome::done;
  }
  const Tree made = TRY(plan_resize(options, resize, objects, live, *cluster, io));
  TRY(confirm(options, resize, stopped, io));
  if (const Tree* pod = made.at({"spec", "template", "spec"}); pod && !stopped)
    TRY(check_claims_of_pod(claims_of_pod(*pod), notebook.ns, notebook.hosts, cluster->spec(),
                            cluster->client(), io));
  if (const auto replaced = replace_deployment(live, workload::restored(made), *cluster); !replaced) {
    if (is_uncertain(replaced.error().fault)) restore(live, notebook, *cluster, io);
    return std::unexpected(replaced.error());
  }
  if (stopped) {
    io.out(fmt::format("the {} is stopped; its next start has the new size\n  {}\n", with_noun(notebook),
                       command_for("start", notebook)));
    return Outcome::done;
  }
  auto node = start_service(notebook, options.timeout, *cluster, io);
  if (!node) {
    restore(live, notebook, *cluster, io);
    return std::unexpected(std::move(node).error());
  }
  io.out(fmt::format("the {} is ready on {} ({})\n", with_noun(notebook), base::printable(*node),
                     workload::describe(TRY(workload::parse_gpus("--gpus", resize.to.gpus)))));
  return Outcome::done;
}

}  // namespace

Command notebook_resize_command() {
  return CommandRow<NotebookResizeOptions>{
      .name = "notebook resize",
      .group = Group::workloads,
      .summary = "Give a notebook other GPUs, CPUs or memory: it is stopped and started again",
      .options =
          [](Line& line, NotebookResizeOptions& options) {
            add_named(line, options.notebook);
            line.value("--gpus", options.gpus, "GPUS",
                       "Number of GPUs, a share such as 1/4, or MIG instances such as 1g.10gb");
            line.value("--cpus", options.cpus, "CPUS", "CPUs to reserve, also the limit");
            line.value("--memory", options.memory, "SIZE", "Memory to reserve, also the limit");
            line.value("--shm", options.shm, "SIZE",
                       "Size of /dev/shm (default: as it is; with --memory half of that)");
            add_wait_timeout(line, options.timeout, "Time limit until it is ready (default 1800)");
            line.flag("-y,--yes", options.consent, Consent::given, "Stop it without asking");
          },
      .examples = {{"gpuadm notebook resize anna --gpus 2 -f cluster.yaml", "its volume is kept"},
                   {"gpuadm notebook resize anna --memory 64Gi -y -f cluster.yaml", "without a question"}},
      .run = notebook_resize};
}

}  // namespace commands
