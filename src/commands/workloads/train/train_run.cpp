#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/train/train_all_reduce.hpp"
#include "commands/workloads/train/train_attend.hpp"
#include "commands/workloads/train/train_line.hpp"
#include "commands/workloads/train/train_wait.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using workload::TrainJob;

void show(const std::vector<std::string>& notes, Io& io) {
  if (io.err_style.verbosity == report::Verbosity::quiet) return;
  for (const std::string& note : notes) io.err("note: " + base::printable(note, 400) + "\n");
}

std::string yaml_of(const TrainVolumePlan& volume, const workload::TrainObjects& objects) {
  std::string text;
  const std::vector<base::Tree> claim = volume.objects();
  for (const auto* list : {&claim, &objects.companions, &objects.services, &objects.others})
    for (const base::Tree& object : *list) text += "---\n" + base::yaml::write(object);
  return text;
}

/// What must be known of objects that are printed: their addresses are those of Services that do not exist.
void show_print_notes(const workload::TrainObjects& objects, Io& io) {
  if (objects.services.empty()) return;
  show(
      std::vector<std::string>{
          "addresses such as $(NAME_SERVICE_HOST) are set by the kubelet from the Services, "
          "which must be created before the Jobs; names of pods need cluster DNS"},
      io);
}

Result<Outcome> print_offline(TrainRequest& request, const TrainRunOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  spec::Cluster cluster;
  if (!request.hosts.file.empty())
    cluster = TRY(session::read_cluster(request.hosts, options.common.connection));
  const TrainVolumePlan volume = plan_train_volume_offline(request, cluster);
  const workload::JobForm form = workload::form_of(request.job, base::Version{1, 28, 0});
  if (!options.queue.empty()) request.job.queue = options.queue;
  TRY(workload::check_queue(request.job, form, workload::supply_of(cluster)));
  const auto context = TRY(train_context(request.job, form, workload::supply_of(cluster), assets));
  const workload::TrainObjects objects = TRY(workload::objects_of(request.job, context));
  io.out(yaml_of(volume, objects));
  show(request.notes, io);
  show_print_notes(objects, io);
  return Outcome::done;
}

/// Claims that are created with the job.
std::vector<base::Tree> new_objects(const TrainVolumePlan& plan, const TrainJob& job) {
  std::vector<base::Tree> objects = plan.objects();
  for (base::Tree& one : workload::companions_of(job)) objects.push_back(std::move(one));
  return objects;
}

/// What is not known and does not matter to every job is left to `train check`.
void show(const std::vector<report::Finding>& findings, Io& io) {
  std::vector<report::Finding> open;
  std::ranges::copy_if(findings, std::back_inserter(open), [](const report::Finding& finding) {
    return report::is_open(finding) &&
           (finding.verdict != report::Verdict::unknown || finding.severity != report::Severity::note);
  });
  if (!open.empty() && io.err_style.verbosity != report::Verbosity::quiet)
    io.err(report::details(open, io.err_style));
}

Result<> add_image_findings(TrainSession& opened, TrainJob& job, TrainView& view) {
  for (report::Finding& finding : TRY(examine_images(opened, job, view)))
    view.findings.push_back(std::move(finding));
  return {};
}

/// The figures of an all-reduce that passed, which is only counted otherwise.
void show_all_reduce(const std::vector<report::Finding>& findings, const report::Write& write) {
  for (const report::Finding& finding : findings)
    if (finding.id == "train.all-reduce" && finding.verdict == report::Verdict::pass)
      write(fmt::format("{}{}{}\n", finding.host.empty() ? "" : finding.host + ": ", finding.message,
                        finding.evidence.empty() ? "" : ": " + finding.evidence));
}

/// Only if nothing else blocks the job.
Result<> add_all_reduce(TrainSession& opened, const TrainJob& job, TrainView& view,
                        const TrainRunOptions& options, std::chrono::seconds wait, Io& io) {
  if (!options.all_reduce) return {};
  if (are_blocked(view.findings, options.ignore)) {
    view.findings.push_back(workload::all_reduce_finding(report::Verdict::skip, report::Severity::note,
                                                         "the job cannot run now"));
    return {};
  }
  if (workload::pulls_with_companion(job)) {
    view.findings.push_back(workload::all_reduce_finding(report::Verdict::skip, report::Severity::note,
                                                         "the Secret for the image is created with the job"));
    return {};
  }
  for (report::Finding& finding : TRY(run_all_reduce(opened, job, view, wait, io)))
    view.findings.push_back(std::move(finding));
  return {};
}

/// Until each rank has a node, where GPUs are waited for. The scheduler needs seconds.
constexpr std::chrono::seconds longest_without_node{60};

/// The folders of the claims that its pods mount.
Result<> check_folders(const Hosts& hosts, const TrainJob& job, TrainSession& opened, const Io& io) {
  std::vector<std::string> claims;
  for (const workload::Role& role : job.roles)
    for (std::string& name : claims_of_pod(role.pod)) claims.push_back(std::move(name));
  return check_claims_of_pod(claims, job.ns, hosts, opened.cluster, *opened.client, io);
}

/// One attempt of train_run, of a job that is in no cluster. Fault::timeout if it did not start; nothing is
/// left of it then.
Result<Outcome> train_once(TrainRequest request, const TrainRunOptions& options, const TrainWait& wait,
                           TrainSession& opened, Io& io) {
  const TrainJob& job = request.job;
  const bool prints = options.form == TrainForm::yaml;
  const TrainVolumePlan plan = TRY(plan_train_volume(request, opened.cluster, *opened.client));
  TrainView view = TRY(prints ? view_for(*opened.client, job, new_objects(plan, job))
                              : view_when_gpus_are_free(*opened.client, job, new_objects(plan, job),
                                                        options.ignore, wait, io));
  const auto context = TRY(train_context(job, view.form, view.supply, opened.assets));
  if (prints) {
    const workload::TrainObjects objects = TRY(workload::objects_of(job, context));
    io.out(yaml_of(plan, objects));
    show_print_notes(objects, io);
    return Outcome::done;
  }
  TRY(add_image_findings(opened, request.job, view));
  TRY(add_all_reduce(opened, job, view, options, wait.start, io));
  const bool blocked = are_blocked(view.findings, options.ignore);
  show(view.findings, io);
  if (io.err_style.verbosity != report::Verbosity::quiet) show_all_reduce(view.findings, io.err);
  if (blocked) return Outcome::blocked;
  for (const workload::Role& role : job.roles)
    if (const std::string note = workload::note_of_share(view.supply, role.gpus); !note.empty()) {
      show(std::vector{note}, io);
      break;
    }
  const bool claims = !view.supply.claims.empty();
  const TrainVolume volume = TRY(create_train_volume(plan, job.ns, *opened.client, io));
  const auto withdraw = [&](base::Error error) {
    base::Error all = withdraw_train_objects(*opened.client, job, claims, std::move(error), io);
    if (const auto deleted = delete_companion_claims(*opened.client, job); !deleted)
      all.what += fmt::format("; its claims could not be deleted: {}", deleted.error().what);
    if (const auto deleted = delete_train_volume(plan, volume, job, *opened.client); !deleted)
      all.what += fmt::format("; its volume could not be deleted: {}", deleted.error().what);
    return all;
  };
  if (const auto created = create_companions(*opened.client, request.job, io); !created)
    return std::unexpected(withdraw(created.error()));
  if (const auto checked = check_folders(request.hosts, job, opened, io); !checked)
    return std::unexpected(withdraw(checked.error()));
  if (const auto created = create_train_objects(*opened.client, job, context); !created)
    return std::unexpected(withdraw(created.error()));
  // Another job may have got the GPUs that were free. The ranks that have some do not keep them from it.
  const StartLimits limits{wait.start, wait.is_over() ? std::nullopt : std::optional(longest_without_node)};
  return attend(opened, {job.ns, job.name, limits, options.detach, withdraw}, io);
}

/// Checks, creates the objects of a job, waits until all ranks run, and follows their logs until the job
/// ends. If not all ranks run in time, or after Ctrl-C before that, everything is deleted again.
/// Outcome::failed if the job fails, ::blocked if it does not fit. With TrainForm::yaml, prints the objects
/// and creates nothing.
Result<Outcome> train_run(const TrainRunOptions& options, Io& io) {
  if (options.offline && options.form != TrainForm::yaml)
    return base::fail(Fault::usage, "--offline only prints objects", "add -o yaml");
  TrainWait wait = TRY(read_train_wait(options.wait));
  TrainRequest request = TRY(read_train_request(options));
  if (options.offline) return print_offline(request, options, io);
  const bool prints = options.form == TrainForm::yaml;
  const auto opened = TRY(open_train_session(
      options.common, request.hosts, prints ? session::Access::read_only : session::Access::full, io));
  show(request.notes, io);
  TRY(find_queue(*opened->client, request.job, options.queue, request.hosts));
  if (!request.job.queue.empty()) wait.gpus_until = {};
  while (true) {
    if (!prints) request.job.instance = TRY(workload::new_instance());
    auto outcome = train_once(request, options, wait, *opened, io);
    if (outcome || outcome.error().fault != Fault::timeout || wait.is_over()) return outcome;
    io.err(fmt::format("note: {}\n", base::printable(outcome.error().what, 600)));
  }
}

/// The checks of train_run. Creates nothing except, with `all_reduce`, the objects of a short job, which are
/// deleted again. Outcome::blocked if the job cannot run.
Result<Outcome> train_check(const TrainRunOptions& options, Io& io) {
  const TrainWait wait = TRY(read_train_wait(options.wait));
  TrainRequest request = TRY(read_train_request(options));
  const auto opened =
      TRY(open_train_session(options.common, request.hosts,
                             options.all_reduce ? session::Access::full : session::Access::read_only, io));
  show(request.notes, io);
  const TrainVolumePlan plan = TRY(plan_train_volume(request, opened->cluster, *opened->client));
  TrainView view = TRY(view_for(*opened->client, request.job, new_objects(plan, request.job)));
  TRY(add_image_findings(*opened, request.job, view));
  TRY(add_all_reduce(*opened, request.job, view, options, wait.start, io));
  const bool blocked = are_blocked(view.findings, options.ignore);
  if (options.form == TrainForm::json) {
    report::write_json(view.findings, io.out);
  } else {
    show_all_reduce(view.findings, io.out);
    io.out(report::details(view.findings, io.out_style));
  }
  return blocked ? Outcome::blocked : Outcome::done;
}

}  // namespace

Command train_run_command() {
  return CommandRow<TrainRunOptions>{
      .name = "train run",
      .group = Group::workloads,
      .summary = "Run a training job: gpuadm train run NAME --image IMAGE -- COMMAND",
      .options =
          [](Line& line, TrainRunOptions& options) {
            add_job(line, options);
            line.value(
                "--wait", options.wait, "TIME",
                "Wait for GPUs that others hold, and until all ranks run, otherwise none does: 300, 30m, "
                "12h (default: 300 s, and not for GPUs)");
            const Option queue = line.attached("--queue", options.queue, "gpuadm", "NAME",
                                               "Wait in a queue of the namespace (add-on kueue; default "
                                               "gpuadm) until it admits all ranks, at most "
                                               "24h; Ctrl-C takes the job back, --detach leaves it there");
            add_detach(line, options.detach);
            line.flag("--offline", options.offline, "With -o yaml: connect to no host");
            line.flag("--all-reduce", options.all_reduce,
                      "Before, test an all-reduce between the ranks, as gpuadm train check does")
                .excludes(queue);
            line.choice<TrainForm, TrainForm>("-o,--output", options.form,
                                              {{"text", TrainForm::text}, {"yaml", TrainForm::yaml}},
                                              "Output format; yaml: print the objects and create nothing");
            add_connection(line, options.common);
          },
      .examples =
          {{"gpuadm train run mnist -f cluster.yaml --nodes 2 --gpus 4 --image "
            "pytorch/pytorch:latest --src . -- torchrun train.py",
            "eight processes on two nodes"},
           {"gpuadm train run night -f cluster.yaml --gpus 4 --wait 12h --image pytorch/pytorch:latest "
            "-- torchrun train.py",
            "as soon as four GPUs are free"},
           {"gpuadm train run sweep -f cluster.yaml --gpus 2 --queue --detach --image pytorch/pytorch:latest "
            "-- torchrun train.py",
            "in the queue of the namespace"},
           {"gpuadm train run solver -f cluster.yaml --nodes 2 --mpi --image registry.lan/solver:1 "
            "-- mpirun ./solver",
            "MPI"},
           {"gpuadm train run eval -f cluster.yaml --image registry.lan/eval:1 --src . --include "
            ".env -- python3 eval.py",
            "with a file that --src leaves out"},
           {"gpuadm train run -f cluster.yaml -f pytorchjob.yaml",
            "a PyTorchJob, MPIJob, TFJob, JAXJob, TrainJob, JobSet or Job"}},
      .run = train_run};
}

Command train_check_command() {
  return CommandRow<TrainRunOptions>{
      .name = "train check",
      .group = Group::workloads,
      .summary = "Check whether a training job can run now, without creating it",
      .options =
          [](Line& line, TrainRunOptions& options) {
            add_job(line, options);
            options.all_reduce = true;
            line.flag("--no-all-reduce", options.all_reduce, false,
                      "Create nothing at all: omit the all-reduce between the ranks, which runs as a short "
                      "job in their image");
            line.value("--wait", options.wait, "TIME",
                       "Time limit until the ranks of the all-reduce run: 300, 10m (default 300)");
            add_train_format(line, options.form);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm train check mnist -f cluster.yaml --nodes 2 --gpus 4 --image "
                    "pytorch/pytorch:latest -- torchrun train.py",
                    "free GPUs, nodes, volumes, clocks"}},
      .run = train_check};
}

}  // namespace commands
