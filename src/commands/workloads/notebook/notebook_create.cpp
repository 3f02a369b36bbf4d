#include "commands/workloads/notebook/notebook_create.hpp"

#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/service/create.hpp"
#include "commands/workloads/service/first_storage.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

constexpr std::size_t token_bytes = 24;

std::string result_of(const ServicePlan& plan, const std::string& node) {
  const workload::ServicePod& notebook = plan.pod;
  return fmt::format("the notebook {}/{} is ready on {} ({})\n", notebook.ns, notebook.name,
                     base::printable(node), workload::describe(notebook.gpus));
}

void add_request(Line& line, workload::NotebookRequest& request) {
  line.value(
      "--gpus", request.gpus, "GPUS",
      "Number of GPUs, a share such as 1/4, or MIG instances such as 1g.10gb or 1g.10gb:2 (default 0)");
  line.value("--image", request.image, "IMAGE",
             "pytorch, tensorflow, or a reference (default pytorch, for the CUDA version of the drivers)");
  line.value("--storage", request.storage, "NAME",
             "PersistentVolumeClaim for files; with --size: storage (gpuadm storage list) or StorageClass "
             "of a new one");
  line.value("--size", request.size, "SIZE",
             "Create a volume of this size for files, such as 10Gi; a cluster without storage gets a local "
             "one, after a "
             "question");
  line.value("--mount", request.mount, "DIR",
             "Directory of the volume in the container (default /home/jovyan/work)");
  line.value("--cpus", request.cpus, "CPUS", "CPUs to reserve, also the limit (default: no limit)");
  line.value("--memory", request.memory, "SIZE", "Memory to reserve, also the limit (default: no limit)");
  line.value("--stop-idle", request.stop_idle, "TIME",
             "Stop it when neither Jupyter nor its GPUs have been used for this time, such as 2h; its volume "
             "is kept; needs gpuadm health enable");
  line.value("--shm", request.shm, "SIZE",
             "Size of /dev/shm (default: half of --memory, or of the smallest suitable node's memory, at "
             "most 64Gi)");
}

}  // namespace

Result<Outcome> notebook_create(const NotebookCreateOptions& options, Io& io) {
  if (options.offline && !options.yaml)
    return base::fail(Fault::usage, "--offline creates nothing", "add -o yaml to print the objects");
  const base::Secret token = TRY(base::random_secret(token_bytes));
  const auto objects_of = [&](const ServicePlan& plan) {
    return plan.with_volume(workload::objects_of(plan.pod, plan.parts, token));
  };
  if (options.offline) {
    print_objects(objects_of(TRY(plan_notebook_offline(options.request, options.hosts, options.common))), io);
    return Outcome::done;
  }
  TRY(workload::make_notebook(options.request));  // reports invalid options before it connects
  auto cluster = TRY(ReachedCluster::open(
      options.hosts, options.common, options.yaml ? session::Access::read_only : session::Access::full, io));
  if (options.yaml) {
    print_objects(objects_of(TRY(plan_notebook(options.request, options.hosts, *cluster))), io);
    return Outcome::done;
  }
  const NamedService service{options.common, options.hosts, options.request.name, options.request.ns};
  const auto plan_on = [&](const std::string& storage) {
    workload::NotebookRequest request = options.request;
    if (!storage.empty()) request.storage = storage;
    return plan_notebook(request, options.hosts, *cluster);
  };
  const ServicePlan plan =
      TRY(plan_and_check({service, options.request.size, 1, options.consent, plan_on}, cluster, io));
  if (!plan.note.empty()) io.err(plan.note + "\n");
  if (const std::string note = workload::note_of_share(plan.supply, plan.pod.gpus); !note.empty())
    io.err(note + "\n");
  // What stops it may not run: known only of nodes with GPUs.
  if (!plan.pod.stop_idle.empty() && !plan.has_health_checks)
    io.err(
        "--stop-idle: no node of this cluster has reported health checks so far, which stop idle "
        "notebooks: gpuadm health enable\n");
  const std::string node = TRY(create_service({.plan = plan,
                                               .objects = objects_of(plan),
                                               .service = service,
                                               .timeout = options.timeout,
                                               .keep = options.keep},
                                              *cluster, io));
  io.out(result_of(plan, node));
  if (options.tunnel) return open_notebook(*cluster, service, 0, io);
  io.out("  " + command_for("url", service) + "\n");
  return Outcome::done;
}

Command notebook_create_command() {
  return CommandRow<NotebookCreateOptions>{
      .name = "notebook create",
      .group = Group::workloads,
      .summary =
          "Create a notebook with GPUs, and wait until it is ready: gpuadm notebook create NAME [-- "
          "COMMAND]",
      .options =
          [](Line& line, NotebookCreateOptions& options) {
            line.argument("NAME", options.request.name, "Name of the notebook").required();
            add_hosts(line, options.hosts);
            line.command(options.request.command);
            add_request(line, options.request);
            const Option node_port = line.flag(
                "--node-port", options.request.reach, workload::Reach::node_port,
                "Open a port for the notebook on every node, without a tunnel and without encryption");
            line.flag("--tunnel", options.tunnel,
                      "Open a tunnel once it is ready, as gpuadm notebook url does")
                .excludes(node_port);
            add_access(line, options.common, options.request.ns);
            add_wait_timeout(line, options.timeout, "Time limit until it is ready (default 1800)");
            line.flag(
                "-y,--yes", options.consent, Consent::given,
                "With --size: if the cluster has no storage, make a local one, and add it to the cluster "
                "file, without asking");
            line.flag("--keep", options.keep, "Keep a notebook that does not become ready");
            line.choice<bool, bool>("-o,--output", options.yaml, {{"text", false}, {"yaml", true}},
                                    "yaml: print the objects, with a new token, instead of creating them");
            line.flag("--offline", options.offline, "With -o yaml: connect to no host");
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm notebook create anna --gpus 1 --size 10Gi -f cluster.yaml",
                    "one GPU, and a volume for files"},
                   {"gpuadm notebook create anna root@192.0.2.10 --gpus 1/4 --tunnel",
                    "a share of a GPU; opens the tunnel"},
                   {"gpuadm notebook create anna -f cluster.yaml --gpus 1 --size 10Gi --stop-idle 2h",
                    "its GPU is free again two hours after it was last used"},
                   {"gpuadm notebook create anna --gpus 1 -o yaml --offline", "only print the objects"}},
      .run = notebook_create};
}

}  // namespace commands
