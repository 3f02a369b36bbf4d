#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include "commands/workloads/storage/claim_folders.hpp"
#include "commands/workloads/train/train_all_reduce.hpp"
#include "commands/workloads/train/train_follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace commands {

namespace {

using base::Fault;
using workload::TrainJob;
using workload::TrainState;

void show(const std::vector<std::string>& notes, Io& io) {
  if (io.err_style.verbosity == report::Verbosity::quiet) return;
  for (const std::string& note : notes) io.err("note: " + base::printable(note, 400) + "\n");
}

std::string yaml_of(const TrainVolumePlan& volume, const workload::TrainObjects& objects) {
  std::string text;
  const std::vector<base::Tree> claim = volume.objects();
  for (const auto* list : {&claim, &objects.services, &objects.others})
    for (const base::Tree& object : *list) text += "---\n" + base::yaml::write(object);
  return text;
}

Result<Outcome> print_offline(TrainRequest& request, const TrainRunOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  spec::Cluster cluster;
  if (!request.hosts.file.empty())
    cluster = TRY(session::read_cluster(request.hosts, options.common.connection));
  const TrainVolumePlan volume = plan_train_volume_offline(request, cluster);
  const workload::JobForm form = workload::form_of(request.job, base::Version{1, 28, 0});
  const auto context = TRY(train_context(request.job, form, workload::supply_of(cluster), assets));
  io.out(yaml_of(volume, TRY(workload::objects_of(request.job, context))));
  show(request.notes, io);
  return Outcome::done;
}

/// Deletes the Jobs of an ended job with their pods, and creates the next ones. Only they define the job:
/// they are created also after Ctrl-C, and until then they are in a file.
Result<> replace_jobs(TrainSession& opened, const TrainState& state, const std::vector<base::Tree>& next) {
  session::ClusterClient& client = *opened.client;
  const auto file = base::state_directory() / opened.cluster.name /
                    fmt::format("train-{}.{}.json", state.space, state.name);
  TRY(base::write_file(file, session::list_of(next) + "\n"));
  const auto replaced = [&]() -> Result<> {
    TRY(client.remove(state.space, {"jobs.batch", "pods"},
                      workload::selector_of(workload::train_kind, state.name)));
    TRY(client.create(state.space, next, transport::Purpose::clean_up));
    return {};
  }();
  std::error_code ignored;
  if (replaced) std::filesystem::remove(file, ignored);
  if (replaced) return {};
  base::Error error = replaced.error();
  error.what += fmt::format("; the Jobs of the next attempt are in {}", file.string());
  error.hint = fmt::format("gpuadm train resume {} -n {}; if its Jobs are gone: kubectl create -f {}",
                           state.name, state.space, file.string());
  return std::unexpected(std::move(error));
}

/// Whether blockers are left that are not ignored.
bool are_blocked(std::vector<report::Finding>& findings, const std::vector<std::string>& ignored) {
  for (report::Finding& finding : findings)
    if (std::ranges::find(ignored, finding.id.text()) != ignored.end())
      finding.severity = std::min(finding.severity, report::Severity::warning);
  return std::ranges::any_of(findings, report::blocks);
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

Result<> add_image_findings(TrainSession& opened, const TrainJob& job, TrainView& view) {
  for (report::Finding& finding : TRY(examine_images(opened, job, view)))
    view.findings.push_back(std::move(finding));
  return {};
}

/// The figures of an all-reduce that passed, which is only counted otherwise.
void show_all_reduce(const std::vector<report::Finding>& findings, const report::Write& write) {
  for (const report::Finding& finding : findings)
    if (finding.id == "train.all-reduce" && finding.verdict == report::Verdict::pass)
      write(fmt::format("{}{}{}\n", finding.host.empty() ? "" : finding.host + ": ", finding.says,
                        finding.evidence.empty() ? "" : ": " + finding.evidence));
}

/// Only if nothing else blocks the job.
Result<> add_all_reduce(TrainSession& opened, const TrainJob& job, TrainView& view,
                        const TrainRunOptions& options, Io& io) {
  if (!options.all_reduce) return {};
  if (are_blocked(view.findings, options.ignore)) {
    view.findings.push_back(workload::all_reduce_finding(report::Verdict::skip, report::Severity::note,
                                                         "the job cannot run now"));
    return {};
  }
  for (report::Finding& finding :
       TRY(run_all_reduce(opened, job, view, std::chrono::seconds(options.wait), io)))
    view.findings.push_back(std::move(finding));
  return {};
}

/// The folders of the claims that its pods mount.
Result<> check_folders(const Hosts& hosts, const TrainJob& job, TrainSession& opened, const Io& io) {
  std::vector<std::string> claims;
  for (const workload::Role& role : job.roles)
    for (std::string& name : claims_of_pod(role.pod)) claims.push_back(std::move(name));
  return check_claims_of_pod(claims, job.space, hosts, opened.cluster, *opened.client, io);
}

/// The rest of a command whose job has been created.
struct Attendance {
  std::string space, name;
  std::chrono::seconds wait;
  bool detach = false;
  std::function<base::Error(base::Error)> withdraw;  ///< if not all ranks start
};
Result<Outcome> attend(TrainSession& opened, const Attendance& how, Io& io) {
  const auto& [space, name, wait, detach, withdraw] = how;
  TrainFollow follow(opened, space, name, io);
  const auto started = follow.wait_for_start(wait);
  if (!started) return std::unexpected(withdraw(started.error()));
  const bool quiet = io.err_style.verbosity == report::Verbosity::quiet;
  if (!quiet && !started->has_ended())
    for (const workload::RankState& one : started->states)
      io.err(fmt::format("rank {} runs on {}\n", one.rank, base::printable(one.node, 80)));
  if (detach && !started->has_ended()) {
    io.out(fmt::format("train/{} runs; gpuadm train logs {} -n {} --follow\n", name, name, space));
    return Outcome::done;
  }
  const auto ended = follow.follow();
  if (ended) return report_end(*ended, opened, io);
  if (ended.error().fault != Fault::usage)
    io.err(fmt::format(
        "train/{0} keeps running; gpuadm train logs {0} -n {1} --follow, or gpuadm train stop {0} -n {1}\n",
        name, space));
  return std::unexpected(ended.error());
}

}  // namespace

Result<Outcome> train_run(const TrainRunOptions& options, Io& io) {
  if (options.offline && options.form != TrainForm::yaml)
    return base::fail(Fault::usage, "--offline only prints objects", "add -o yaml");
  TrainRequest request = TRY(read_train_request(options));
  const TrainJob& job = request.job;
  if (options.offline) return print_offline(request, options, io);
  const bool prints = options.form == TrainForm::yaml;
  if (!prints) request.job.instance = TRY(workload::new_instance());
  const auto opened = TRY(open_train_session(
      options.common, request.hosts, prints ? session::Access::read_only : session::Access::full, io));
  show(request.notes, io);
  const TrainVolumePlan plan = TRY(plan_train_volume(request, opened->cluster, *opened->client));
  TrainView view = TRY(view_for(*opened->client, job, plan.objects()));
  const auto context = TRY(train_context(job, view.form, view.supply, opened->assets));
  if (prints) {
    io.out(yaml_of(plan, TRY(workload::objects_of(job, context))));
    return Outcome::done;
  }
  TRY(add_image_findings(*opened, job, view));
  TRY(add_all_reduce(*opened, job, view, options, io));
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
  const TrainVolume volume = TRY(create_train_volume(plan, job.space, *opened->client, io));
  const auto checked = check_folders(request.hosts, job, *opened, io);
  const auto withdraw = [&](base::Error error) {
    base::Error all = withdraw_train_objects(*opened->client, job, claims, std::move(error), io);
    if (const auto deleted = delete_train_volume(plan, volume, job, *opened->client); !deleted)
      all.what += fmt::format("; its volume could not be deleted: {}", deleted.error().what);
    return all;
  };
  if (!checked) return std::unexpected(withdraw(checked.error()));
  if (const auto created = create_train_objects(*opened->client, job, context); !created)
    return std::unexpected(withdraw(created.error()));
  return attend(*opened, {job.space, job.name, std::chrono::seconds(options.wait), options.detach, withdraw},
                io);
}

Result<Outcome> train_check(const TrainRunOptions& options, Io& io) {
  TrainRequest request = TRY(read_train_request(options));
  const auto opened =
      TRY(open_train_session(options.common, request.hosts,
                             options.all_reduce ? session::Access::full : session::Access::read_only, io));
  show(request.notes, io);
  const TrainVolumePlan plan = TRY(plan_train_volume(request, opened->cluster, *opened->client));
  TrainView view = TRY(view_for(*opened->client, request.job, plan.objects()));
  TRY(add_image_findings(*opened, request.job, view));
  TRY(add_all_reduce(*opened, request.job, view, options, io));
  const bool blocked = are_blocked(view.findings, options.ignore);
  if (options.form == TrainForm::json) {
    report::write_json(view.findings, io.out);
  } else {
    show_all_reduce(view.findings, io.out);
    io.out(report::details(view.findings, io.out_style));
  }
  return blocked ? Outcome::blocked : Outcome::done;
}

Result<Outcome> train_resume(const TrainOptions& options, Io& io) {
  const std::string space = options.space.empty() ? "default" : options.space;
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::full, io));
  session::ClusterClient& client = *opened->client;
  const TrainState state = TRY(read_train_state(client, space, options.name));
  if (!state.has_ended())
    return base::fail(Fault::usage,
                      fmt::format("train/{} has not ended ({})", state.name, name_of(state.phase)),
                      fmt::format("gpuadm train stop {} -n {} --keep", state.name, space));
  const std::string selector = workload::selector_of(workload::train_kind, state.name);
  std::vector<base::Tree> next;
  int attempt = 0;
  for (const base::Tree& job : TRY(client.get({{"jobs.batch"}, space, selector}))) {
    attempt = workload::attempt_of(job) + 1;
    next.push_back(TRY(workload::repeated(job, attempt)));
  }
  std::vector<std::string> claims;
  for (const base::Tree& job : next)
    if (const base::Tree* pod = job.at({"spec", "template", "spec"}))
      for (std::string& name : claims_of_pod(*pod)) claims.push_back(std::move(name));
  TRY(check_claims_of_pod(claims, space, options.hosts, opened->cluster, client, io));
  TRY(replace_jobs(*opened, state, next));
  io.err(fmt::format("train/{}: attempt {}\n", state.name, attempt));
  const auto end_again = [&](base::Error error) {
    if (const auto ended = end_ranks(client, state); !ended)
      error.what += "; its ranks could not be ended: " + ended.error().what;
    error.hint =
        fmt::format("gpuadm train resume {0} -n {1}, or gpuadm train stop {0} -n {1}", state.name, space);
    return error;
  };
  return attend(*opened, {space, state.name, std::chrono::seconds(options.wait), options.detach, end_again},
                io);
}

}  // namespace commands
