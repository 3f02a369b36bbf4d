#include "commands/workloads/train/train_attend.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/workloads/train/train_attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace commands {

using base::Fault;

namespace {

/// Starts a job that has failed again, as often as its manifest says. Not after its time limit.
Result<bool> restart(TrainSession& opened, const workload::TrainState& state, Io& io) {
  if (state.phase != workload::TrainState::Phase::failed || !state.why.empty()) return false;
  // Pods on a lost node cannot be deleted, so no Job can take their place.
  if (std::ranges::any_of(state.states, &workload::RankState::unreachable)) return false;
  const auto next = read_next_attempt(*opened.client, state);
  // A job of the command line, which train resume starts again.
  if (!next && next.error().fault == Fault::usage) return false;
  if (!next) return std::unexpected(next.error());
  if (next->left == 0) return false;
  const workload::RankState* failed = state.failed();
  io.err(fmt::format("train/{}: rank {} failed{}; attempt {} of {}\n", state.name, failed ? failed->rank : 0,
                     failed && !failed->why.empty() ? ": " + failed->why : "", next->number + 1,
                     next->number + next->left));
  TRY(replace_jobs(opened, state, *next));
  return true;
}

/// Until the end of an attempt. `before`: the one before it in this run. What has run before is not deleted
/// if it does not start again: its ranks are ended.
Result<workload::TrainState> follow_attempt(TrainSession& opened, const Attendance& how,
                                            const std::optional<workload::TrainState>& before,
                                            bool& is_detached, Io& io) {
  const auto& [ns, name, given, detach, withdraw] = how;
  StartLimits limits = given;
  limits.leaves_queued = detach;
  TrainFollow follow(opened, ns, name, io);
  const auto started = follow.wait_for_start(limits);
  if (!started)
    return std::unexpected(before ? end_attempt(*opened.client, *before, started.error())
                                  : withdraw(started.error()));
  const bool quiet = io.err_style.verbosity == report::Verbosity::quiet;
  if (!quiet && !started->queued && !started->has_ended())
    for (const workload::RankState& one : started->states)
      io.err(fmt::format("rank {} runs on {}\n", one.rank, base::printable(one.node, 80)));
  is_detached = detach && !started->has_ended();
  if (is_detached) return *started;
  auto ended = follow.follow();
  if (!ended && ended.error().fault != Fault::usage)
    io.err(fmt::format(
        "train/{0} keeps running; gpuadm train logs {0} -n {1} --follow, or gpuadm train stop {0} -n {1}\n",
        name, ns));
  return ended;
}

}  // namespace

Result<Outcome> attend(TrainSession& opened, const Attendance& how, Io& io) {
  std::optional<workload::TrainState> before;
  while (true) {
    bool is_detached = false;
    const workload::TrainState state = TRY(follow_attempt(opened, how, before, is_detached, io));
    if (is_detached) {
      io.out(fmt::format("train/{0} {2}; gpuadm train logs {0} -n {1} --follow\n", how.name, how.ns,
                         state.queued ? "is in its queue" : "runs"));
      return Outcome::done;
    }
    if (!TRY(restart(opened, state, io))) return report_end(state, opened, io);
    before = state;
  }
}

}  // namespace commands
