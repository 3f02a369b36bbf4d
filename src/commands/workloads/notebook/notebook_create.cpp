#include "commands/workloads/notebook/notebook_create.hpp"

#include "gpuadm/base/random.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/notebook/first_storage.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/notebook/open_notebook.hpp"
#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/wait_ready.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr std::size_t token_bytes = 24;

std::string instance_selector(const workload::Notebook& notebook) {
  return workload::instance_selector(workload::notebook_kind, notebook.name, notebook.instance);
}

/// Prints the objects as a stream of YAML documents.
Outcome print(const NotebookPlan& plan, const base::Secret& token, const Io& io) {
  for (const Tree& object : plan.objects(token)) io.out("---\n" + base::yaml::write(object));
  return Outcome::done;
}

/// Deletes the objects of this run, and says so; or how to, if that fails.
void withdraw(const NotebookPlan& plan, bool folder_existed, const NotebookCreateOptions& options,
              ReachedCluster& cluster, const Io& io) {
  const workload::Notebook& notebook = plan.notebook;
  report_deletion(fmt::format("{}/{}", notebook.ns, notebook.name), io);
  auto removed =
      remove_notebook(cluster, notebook.ns, instance_selector(notebook),
                      plan.parts.claim_template ? workload::GpuClaims::yes : workload::GpuClaims::no,
                      plan.has_new_volume() ? workload::OwnVolume::deleted : workload::OwnVolume::kept);
  if (removed && plan.volume)
    removed = remove_volume(*plan.volume, folder_existed ? ClaimFiles::kept : ClaimFiles::deleted,
                            cluster.client());
  if (removed)
    io.err(fmt::format("deleted what was created of {}/{}\n", notebook.ns, notebook.name));
  else
    io.err(fmt::format(
        "cannot delete what was created: {}\n  {} --purge\n", base::printable(removed.error().what),
        notebook_command("delete", notebook.name, notebook.ns, options.hosts, options.common.connection)));
}

/// Whether a failed request may have created objects: the answer did not arrive.
bool is_uncertain(Fault fault) {
  return fault == Fault::interrupted || fault == Fault::timeout || fault == Fault::unreachable;
}

/// The folders of the claims that it mounts.
Result<> check_folders(const NotebookPlan& plan, const NotebookCreateOptions& options,
                       ReachedCluster& cluster, const Io& io) {
  const workload::Notebook& notebook = plan.notebook;
  if (plan.volume)
    return check_claim_folders(plan.volume->storage, notebook.ns, {plan.volume->claim.name}, cluster.spec(),
                               cluster.client(), io);
  if (notebook.claim.empty()) return {};
  return check_claims_of_pod({notebook.claim}, notebook.ns, options.hosts, cluster.spec(), cluster.client(),
                             io);
}

/// Creates the objects, and waits until the notebook is ready. Returns its node.
Result<std::string> create(const NotebookPlan& plan, const base::Secret& token,
                           const NotebookCreateOptions& options, ReachedCluster& cluster, Io& io) {
  const workload::Notebook& notebook = plan.notebook;
  ClaimFolder folder;
  if (plan.volume) {
    folder = TRY(make_claim_folder(*plan.volume, cluster.client()));
    io.err(note_of(*plan.volume, folder));
  }
  if (const auto checked = check_folders(plan, options, cluster, io); !checked) {
    if (plan.volume) drop_claim_folder(*plan.volume, folder, cluster.client());
    return std::unexpected(checked.error());
  }
  const auto created = cluster.client().create(notebook.ns, plan.objects(token));
  if (!created) {
    if (is_uncertain(created.error().fault))
      withdraw(plan, folder.existed, options, cluster, io);
    else if (plan.volume)
      drop_claim_folder(*plan.volume, folder, cluster.client());
    return std::unexpected(created.error());
  }
  auto node =
      wait_ready(cluster, {notebook.ns, notebook.name, instance_selector(notebook)}, options.timeout, io);
  if (node) return node;
  base::Error error = node.error();
  if (error.fault != Fault::interrupted)
    error.what =
        fmt::format("the notebook {}/{} does not become ready: {}", notebook.ns, notebook.name, error.what);
  if (!options.keep || error.fault == Fault::interrupted)
    withdraw(plan, folder.existed, options, cluster, io);
  else
    error.hint = with_details(
        error.hint, explain_command({notebook.ns, notebook.name}, options.hosts, options.common.connection));
  return std::unexpected(std::move(error));
}

std::string result_of(const NotebookPlan& plan, const std::string& node) {
  const workload::Notebook& notebook = plan.notebook;
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
  line.value("--shm", request.shm, "SIZE",
             "Size of /dev/shm (default: half of --memory, or of the smallest suitable node's memory, at "
             "most 64Gi)");
}

}  // namespace

Result<Outcome> notebook_create(const NotebookCreateOptions& options, Io& io) {
  if (options.offline && !options.yaml)
    return base::fail(Fault::usage, "--offline creates nothing", "add -o yaml to print the objects");
  const base::Secret token = TRY(base::random_secret(token_bytes));
  if (options.offline)
    return print(TRY(plan_notebook_offline(options.request, options.hosts, options.common)), token, io);
  TRY(workload::make_notebook(options.request));  // reports invalid options before it connects
  auto cluster = TRY(ReachedCluster::open(
      options.hosts, options.common, options.yaml ? session::Access::read_only : session::Access::full, io));
  NotebookPlan plan = TRY(plan_notebook(options.request, options.hosts, *cluster));
  if (options.yaml) return print(plan, token, io);
  auto checked = check_notebook(plan, options.hosts, *cluster);
  if (!checked && plan.lacks_storage) {
    workload::NotebookRequest request = options.request;
    request.storage =
        TRY(make_first_storage(request, plan, {options.common, options.hosts, request.name, request.ns},
                               options.consent, *cluster, io));
    // The cluster file has the storage now, and is read again.
    cluster.reset();
    cluster = TRY(ReachedCluster::open(options.hosts, options.common, session::Access::full, io));
    plan = TRY(plan_notebook(request, options.hosts, *cluster));
    checked = check_notebook(plan, options.hosts, *cluster);
  }
  if (!checked) return std::unexpected(checked.error());
  if (!plan.note.empty()) io.err(plan.note + "\n");
  if (const std::string note = workload::note_of_share(plan.supply, plan.notebook.gpus); !note.empty())
    io.err(note + "\n");
  const std::string node = TRY(create(plan, token, options, *cluster, io));
  io.out(result_of(plan, node));
  const std::string& name = plan.notebook.name;
  if (options.tunnel)
    return open_notebook(*cluster, {options.common, options.hosts, name, plan.notebook.ns}, 0, io);
  io.out("  " + notebook_command("url", name, plan.notebook.ns, options.hosts, options.common.connection) +
         "\n");
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
                      "Open an SSH tunnel once it is ready, as gpuadm notebook url does")
                .excludes(node_port);
            add_namespace(line, options.request.ns);
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
                   {"gpuadm notebook create anna --gpus 1 -o yaml --offline", "only print the objects"}},
      .run = notebook_create};
}

}  // namespace commands
