#include "commands/workloads/train/train_all_reduce.hpp"

#include "gpuadm/checks/chain.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/workload/all_reduce.hpp"

#include "commands/workloads/train/train_follow.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using report::Finding;
using report::Severity;
using report::Verdict;
using workload::all_reduce_finding;
using workload::RankState;
using workload::TrainJob;
using workload::TrainState;

/// From the start of all ranks: importing PyTorch, meeting, some seconds of measurement.
constexpr std::chrono::seconds limit{150};

/// What the ranks did until their end, or the deadline.
struct Ranks {
  std::string log;
  std::vector<std::string> nodes;
  std::string ended;
  bool timed_out = false;
};

Result<Ranks> follow_ranks(TrainSession& opened, const TrainJob& test, std::chrono::seconds wait, Io& io) {
  Ranks ranks;
  Io quiet = io;  // progress is shown, logs are not
  quiet.out = [&](std::string_view text) { ranks.log += text; };
  TrainFollow follow(opened, test.ns, test.name, quiet);
  const TrainState started = TRY(follow.wait_for_start({wait}));
  for (const RankState& one : started.states)
    if (std::ranges::find(ranks.nodes, one.node) == ranks.nodes.end()) ranks.nodes.push_back(one.node);
  const auto ended = follow.follow(limit);
  if (!ended && ended.error().fault != Fault::timeout) return std::unexpected(ended.error());
  ranks.timed_out = !ended;
  if (ended)
    if (const RankState* failed = ended->failed())
      ranks.ended = fmt::format("rank {} on {}: {}", failed->rank, failed->node, failed->why);
  return ranks;
}

/// The slowest link among those that have the addresses of these nodes. Nothing: one of them is not known.
Result<std::optional<workload::LinkSpeed>> slowest_link(TrainSession& opened, const TrainView& view,
                                                        const std::vector<std::string>& nodes) {
  const session::Survey survey = TRY(session::take_census(*opened.fleet, opened.assets));
  const auto hosts = checks::cluster_nodes(opened.cluster, survey.census, view.cluster);
  std::optional<workload::LinkSpeed> slowest;
  for (const std::string& name : nodes) {
    const auto host = std::ranges::find(hosts, name, &checks::GpuNode::node);
    const auto node = std::ranges::find(*view.cluster.nodes, name, &facts::Node::name);
    if (host == hosts.end() || node == view.cluster.nodes->end()) return std::nullopt;
    const facts::Network& network = survey.census.at(host->host)->network;
    const auto address = std::ranges::find_if(network.all_addresses, [&](const facts::Address& one) {
      return one.cidr.substr(0, one.cidr.find('/')) == node->address;
    });
    if (address == network.all_addresses.end()) return std::nullopt;
    const auto link = std::ranges::find(network.links, address->link, &facts::Link::name);
    if (link == network.links.end() || !link->speed) return std::nullopt;
    if (!slowest || *link->speed < slowest->megabits) slowest = {name, link->name, *link->speed};
  }
  return slowest;
}

/// The ranks of the test, deleted again in any case.
Result<Ranks> run_ranks(TrainSession& opened, const TrainJob& test, const TrainView& view,
                        std::chrono::seconds wait, Io& io) {
  const auto context = TRY(train_context(test, view.form, view.supply, opened.assets));
  const bool claims = !view.supply.claims.empty();
  const auto withdraw = [&](const base::Error& error) {
    return std::unexpected(withdraw_train_objects(*opened.client, test, claims, error, io));
  };
  if (const auto created = create_train_objects(*opened.client, test, context); !created)
    return withdraw(created.error());
  auto ranks = follow_ranks(opened, test, wait, io);
  if (!ranks) return withdraw(ranks.error());
  TRY(delete_train_objects(*opened.client, test.ns, test.name, claims));
  return ranks;
}

std::vector<Finding> one(Finding finding) {
  std::vector<Finding> findings;
  findings.push_back(std::move(finding));
  return findings;
}

/// Why the ranks of the test did not run, which also applies to those of the job.
Finding not_started(const base::Error& error) {
  const bool is_their_fault = error.fault == Fault::blocked || error.fault == Fault::timeout;
  return all_reduce_finding(is_their_fault ? Verdict::fail : Verdict::unknown,
                            is_their_fault ? Severity::blocker : Severity::warning,
                            is_their_fault ? "the ranks of an all-reduce do not start"
                                           : "an all-reduce between the ranks could not be run",
                            error.what, error.hint);
}

}  // namespace

Result<std::vector<Finding>> run_all_reduce(TrainSession& opened, const TrainJob& job, const TrainView& view,
                                            std::chrono::seconds wait, Io& io) {
  const std::string shell = TRY(opened.assets.read("playbooks/workload/all-reduce.sh"));
  const std::string python = TRY(opened.assets.read("playbooks/workload/all-reduce.py"));
  const workload::AllReduceScripts scripts{shell, python};
  const auto most = static_cast<int>((wait + limit).count());
  const auto test = workload::all_reduce_job(job, scripts, most, most);
  if (!test) return one(all_reduce_finding(Verdict::skip, Severity::note, "the job has one process"));
  if (!TRY(read_train_states(*opened.client, test->ns, test->name)).empty())
    return one(
        all_reduce_finding(Verdict::unknown, Severity::warning,
                           fmt::format("a job train/{} exists in {}: another check is running, or was killed",
                                       test->name, test->ns),
                           "", fmt::format("gpuadm train stop {} -n {}", test->name, test->ns)));
  if (io.err_style.verbosity != report::Verbosity::quiet)
    io.err(fmt::format("an all-reduce between {} ranks, as train/{} (at most {}s)\n", test->ranks(),
                       test->name, most));
  const auto ranks = run_ranks(opened, *test, view, wait, io);
  if (!ranks && ranks.error().fault == Fault::interrupted) return std::unexpected(ranks.error());
  if (!ranks) return one(not_started(ranks.error()));
  const workload::AllReduce read = workload::read_all_reduce(ranks->log);
  if (!read.has_torch) {
    if (io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("the image has no PyTorch: {}; testing its nodes with gpuadm-proof\n",
                         read.why_no_torch));
    return prove_nodes(opened, job, view, ranks->nodes, io);
  }
  std::optional<workload::LinkSpeed> speed;
  if (read.result && read.result->backend == "gloo" && ranks->nodes.size() > 1)
    speed = TRY(slowest_link(opened, view, ranks->nodes));
  return workload::judge_all_reduce({.job = job,
                                     .read = read,
                                     .ended = ranks->ended,
                                     .timed_out = ranks->timed_out ? static_cast<int>(limit.count()) : 0,
                                     .speed = speed});
}

}  // namespace commands
