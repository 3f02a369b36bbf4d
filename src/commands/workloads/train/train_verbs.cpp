#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/report/columns.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/train/train_follow.hpp"
#include "commands/workloads/train/train_line.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Tree;
using workload::RankState;
using workload::TrainState;

std::string ns_of(const TrainOptions& options) {
  return options.ns.empty() ? "default" : options.ns;
}

Tree to_tree(const TrainState& state) {
  Tree ranks = Tree::list();
  for (const RankState& one : state.states) {
    Tree rank = Tree::map_of({{"rank", one.rank}, {"state", name_of(one.phase)}});
    if (!one.pod.empty()) rank.set("pod", one.pod);
    if (!one.node.empty()) rank.set("node", one.node);
    if (!one.why.empty()) rank.set("reason", one.why);
    if (one.exit_code != 0) rank.set("exitCode", one.exit_code);
    ranks.push(std::move(rank));
  }
  Tree tree = Tree::map_of({{"name", state.name},
                            {"namespace", state.ns},
                            {"state", name_of(state.phase)},
                            {"created", state.created},
                            {"gpus", state.gpus},
                            {"ranks", std::move(ranks)}});
  if (!state.why.empty()) tree.set("reason", state.why);
  return tree;
}

/// The pod that explains why the job does not run or has failed; empty: it runs, has succeeded or was
/// stopped.
std::string pod_to_explain(const TrainState& state) {
  if (state.phase != TrainState::Phase::pending && state.phase != TrainState::Phase::failed) return {};
  const RankState* rank = state.phase == TrainState::Phase::failed ? state.failed() : state.waiting();
  return rank && !rank->pod.empty() ? rank->pod : state.name;
}

std::string age_of(const std::string& created) {
  const auto seconds = base::parse_time(created);
  if (!seconds) return "?";
  const double now = std::chrono::duration<double>(base::now().time_since_epoch()).count();
  return base::human_seconds(std::max(0.0, now - *seconds));
}

std::vector<std::string> row_of(const TrainState& state) {
  const auto running = std::ranges::count(state.states, RankState::Phase::running, &RankState::phase);
  return {base::printable(state.ns, 63),
          base::printable(state.name, 63),
          std::string(name_of(state.phase)),
          fmt::format("{}/{}", running, state.ranks),
          state.gpus.empty() ? "none" : base::printable(state.gpus, 60),
          age_of(state.created)};
}

std::string ranks_as_text(const TrainState& state, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {{"RANK", "NODE", "STATE", "REASON"}};
  for (const RankState& one : state.states)
    lines.push_back(
        {std::to_string(one.rank), base::printable(one.node, 63), std::string(name_of(one.phase)), one.why});
  return report::columns(std::move(lines), width, {3, 1});
}

/// Prints one line per rank.
Result<Outcome> train_status(const TrainOptions& options, Io& io) {
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::read_only, io));
  const TrainState state = TRY(read_train_state(*opened->client, ns_of(options), options.name));
  const kube::PodName pod{state.ns, pod_to_explain(state)};
  const auto reason = pod.name.empty() ? std::nullopt : reason_of(opened->cluster, pod, *opened->client);
  if (options.form == TrainForm::json) {
    Tree tree = to_tree(state);
    if (reason) tree.set("explanation", Tree::map_of({{"message", reason->what}, {"fix", reason->fix}}));
    io.out(base::json::write(tree) + "\n");
    return Outcome::done;
  }
  io.out(fmt::format("train/{} in {}: {}{}, {} old, GPUs of a rank: {}\n", state.name, state.ns,
                     name_of(state.phase),
                     state.why.empty() ? "" : " (" + base::printable(state.why, 100) + ")",
                     age_of(state.created), state.gpus.empty() ? "none" : base::printable(state.gpus, 60)));
  io.out(ranks_as_text(state, io.out_style.width));
  if (reason)
    io.out(fmt::format(
        "\n{}\n  {}\n", reason->what,
        with_details(reason->fix, explain_command(pod, options.hosts, options.common.connection))));
  return Outcome::done;
}

/// Prints the logs of ranks, "[0] line". With `follow` until the job ends; then as train_run.
Result<Outcome> train_logs(const TrainOptions& options, Io& io) {
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::read_only, io));
  const TrainState state = TRY(read_train_state(*opened->client, ns_of(options), options.name));
  if (options.rank >= state.ranks)
    return base::fail(base::Fault::usage, fmt::format("train/{} has no rank {}", state.name, options.rank),
                      fmt::format("ranks are 0 to {}", state.ranks - 1));
  TrainFollow follow(*opened, ns_of(options), options.name, io);
  TRY(follow.logs().print_all(state, options.rank));
  Outcome outcome = Outcome::done;
  if (options.follow && !state.has_ended())
    outcome = report_end(TRY(follow.watch(options.rank)), *opened, io);
  else
    follow.logs().report_unread();
  return follow.logs().has_read_all() ? outcome : Outcome::failed;
}

/// Ends a job and deletes its objects. Volumes stay.
Result<Outcome> train_stop(const TrainOptions& options, Io& io) {
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::full, io));
  auto found = read_train_state(*opened->client, ns_of(options), options.name);
  // A command that was interrupted may have left objects without a Job.
  if (!found && found.error().fault == base::Fault::usage &&
      TRY(delete_train_objects(*opened->client, ns_of(options), options.name, false)) > 0) {
    io.out(fmt::format("train/{} is deleted\n", options.name));
    return Outcome::done;
  }
  const TrainState state = TRY(std::move(found));
  if (options.keep) {
    TRY(end_ranks(*opened->client, state));
    io.out(
        fmt::format("train/{} is stopped; gpuadm train resume {} -n {}\n", state.name, state.name, state.ns));
    return Outcome::done;
  }
  TRY(delete_train_objects(*opened->client, state.ns, state.name, state.has_claims));
  io.out(fmt::format("train/{} is deleted; volumes are kept\n", state.name));
  return Outcome::done;
}

/// Prints one line per job.
Result<Outcome> train_list(const TrainOptions& options, Io& io) {
  const auto opened = TRY(open_train_session(options.common, options.hosts, session::Access::read_only, io));
  const auto states = TRY(read_train_states(*opened->client, options.ns, ""));
  if (options.form == TrainForm::json) {
    Tree list = Tree::list();
    for (const TrainState& state : states) list.push(to_tree(state));
    io.out(base::json::write(list) + "\n");
    return Outcome::done;
  }
  if (states.empty()) {
    io.out("there are no training jobs\n");
    return Outcome::done;
  }
  std::vector<std::vector<std::string>> lines = {
      {"NAMESPACE", "NAME", "STATE", "RUNNING", "GPUS OF A RANK", "AGE"}};
  for (const TrainState& state : states) lines.push_back(row_of(state));
  io.out(report::columns(std::move(lines), io.out_style.width, {4, 1, 0}));
  return Outcome::done;
}

}  // namespace

Command train_status_command() {
  return CommandRow<TrainOptions>{
      .name = "train status",
      .group = Group::workloads,
      .summary = "Show the ranks of a training job",
      .options =
          [](Line& line, TrainOptions& options) {
            add_existing_job(line, options);
            add_train_format(line, options.form);
          },
      .examples = {{"gpuadm train status mnist -f cluster.yaml", "one line per rank"}},
      .run = train_status};
}

Command train_logs_command() {
  return CommandRow<TrainOptions>{
      .name = "train logs",
      .group = Group::workloads,
      .summary = "Show the logs of the ranks of a training job",
      .options =
          [](Line& line, TrainOptions& options) {
            add_existing_job(line, options);
            line.flag("--follow", options.follow, "Continue until the job ends");
            line.value("--rank", options.rank, "RANK", "Only this rank").range(0, 10'000);
          },
      .examples = {{"gpuadm train logs mnist -f cluster.yaml --follow", "all ranks, until the job ends"}},
      .run = train_logs};
}

Command train_stop_command() {
  return CommandRow<TrainOptions>{
      .name = "train stop",
      .group = Group::workloads,
      .summary = "End a training job and delete its objects; volumes are kept",
      .options =
          [](Line& line, TrainOptions& options) {
            add_existing_job(line, options);
            line.flag("--keep", options.keep, "Keep its objects for gpuadm train resume");
          },
      .examples = {{"gpuadm train stop mnist -f cluster.yaml", "delete the job; volumes are kept"},
                   {"gpuadm train stop mnist -f cluster.yaml --keep", "for gpuadm train resume"}},
      .run = train_stop};
}

Command train_list_command() {
  return CommandRow<TrainOptions>{
      .name = "train list",
      .group = Group::workloads,
      .summary = "List training jobs",
      .options =
          [](Line& line, TrainOptions& options) {
            add_hosts(line, options.hosts);
            add_access(line, options.common, options.ns,
                       "Only jobs of this namespace (default: all, with --kubeconfig that of its context)");
            add_train_format(line, options.form);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm train list -f cluster.yaml", "training jobs of all namespaces"}},
      .run = train_list};
}

}  // namespace commands
