#include "commands/workloads/train/train_follow.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/read_failures.hpp"
#include "commands/workloads/train/train_wait.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using workload::RankState;
using workload::TrainState;

constexpr std::chrono::seconds interval{1}, lost_after{30};
/// Until ranks that end with the others are ended: they may still write files.
constexpr std::chrono::seconds followers_end_within{30};
/// Between two reads of a queue, and until Kueue has seen a new job.
constexpr std::chrono::seconds queue_interval{5}, unseen_after{60};

bool runs(const TrainState& state) {
  return std::ranges::any_of(state.states,
                             [](const RankState& one) { return one.phase == RankState::Phase::running; });
}

/// Whether a rank has a pod that runs, or is still to start.
bool has_open_pods(const TrainState& state) {
  return runs(state) || std::ranges::any_of(state.states, [](const RankState& one) {
           return one.phase == RankState::Phase::pending && !one.pod.empty();
         });
}

}  // namespace

Result<TrainState> TrainFollow::read() {
  return read_train_state(client_, ns_, name_);
}

Result<> TrainFollow::sleep() {
  (void)client_.fleet().next_until(base::Clock::now() + interval);
  if (client_.fleet().interrupted()) return base::fail(Fault::interrupted, "interrupted");
  return {};
}

void TrainFollow::show_place(const QueuePlace& place) {
  if (!place.known) return;
  if (place.text != shown_place_ && io_.err_style.verbosity != report::Verbosity::quiet)
    io_.err(fmt::format("train/{} is queued: {}\n", name_, place.text));
  shown_place_ = place.text;
}

Result<bool> TrainFollow::wait_in_queue(const QueuePlace& place, const StartLimits& limits) {
  const auto now = base::Clock::now();
  if (!queued_since_) queued_since_ = now;
  show_place(place);
  if (place.known && limits.leaves_queued) return true;
  if (!place.known && now - *queued_since_ >= unseen_after)
    return base::fail(Fault::blocked,
                      fmt::format("Kueue has not queued train/{} within {}s", name_, unseen_after.count()),
                      "gpuadm addon verify kueue");
  if (now - *queued_since_ >= limits.queue)
    return base::fail(
        Fault::timeout,
        fmt::format("train/{} was not admitted within {}h: {}", name_, limits.queue.count(), place.text),
        "--queue with --detach leaves it in the queue");
  (void)client_.fleet().next_until(now + queue_interval);
  if (client_.fleet().interrupted()) return base::fail(Fault::interrupted, "interrupted");
  return false;
}

Result<TrainState> TrainFollow::wait_for_start(const StartLimits& limits) {
  auto begin = base::Clock::now();
  const std::chrono::seconds limit = limits.start;
  auto deadline = begin + limit;
  ReadFailures failures(io_);
  std::string shown;
  while (true) {
    auto answer = read();
    QueuePlace place;
    if (answer && answer->queued) {
      auto found = read_place(client_, *answer);
      if (found)
        place = std::move(*found);
      else
        answer = std::unexpected(std::move(found).error());
    }
    if (!answer) {
      TRY(failures.tolerate(answer.error()));
      if (base::Clock::now() >= deadline) return answer;
      TRY(sleep());
      continue;
    }
    failures.reset();
    const TrainState& state = *answer;
    // A short job may have ended before all of its ranks were seen running.
    if (state.all_started() || state.has_ended()) return answer;
    if (state.queued) {
      if (TRY(wait_in_queue(place, limits))) return answer;
      begin = base::Clock::now();
      deadline = begin + limit;
      continue;
    }
    const std::string progress = progress_of(state);
    if (progress != shown && io_.err_style.verbosity != report::Verbosity::quiet)
      io_.err(fmt::format("waiting for train/{} (at most {}s): {}\n", name_, limit.count(), progress));
    shown = progress;
    const auto hopeless = std::ranges::find_if(state.states, &RankState::hopeless);
    if (hopeless != state.states.end()) {
      const auto reason = reason_of(hosts_, {ns_, hopeless->pod}, client_);
      return base::fail(Fault::blocked,
                        fmt::format("rank {} of train/{} cannot start: {}", hopeless->rank, name_,
                                    reason ? reason->what : hopeless->why),
                        reason ? reason->fix : "");
    }
    const bool has_nodes = std::ranges::none_of(state.states, [](const RankState& one) {
      return one.phase == RankState::Phase::pending && one.node.empty();
    });
    const bool lacks_node = limits.node && !has_nodes && base::Clock::now() >= begin + *limits.node;
    if (lacks_node || base::Clock::now() >= deadline) {
      const RankState* waiting = state.waiting();
      const auto reason =
          reason_of(hosts_, {ns_, waiting && !waiting->pod.empty() ? waiting->pod : name_}, client_);
      return base::fail(
          Fault::timeout,
          fmt::format("train/{} did not start within {}s: {}", name_,
                      (lacks_node ? *limits.node : limit).count(), reason ? reason->what : progress),
          reason && !reason->fix.empty() ? reason->fix : "--wait SECONDS waits longer");
    }
    TRY(sleep());
  }
}

bool TrainFollow::waits_for_followers(const TrainState& state) const {
  return state.phase == TrainState::Phase::succeeded && state.has_followers && !ended_others_ &&
         has_open_pods(state);
}

Result<> TrainFollow::end_if_lost(TrainState& state) {
  const auto now = base::Clock::now();
  for (RankState& one : state.states) {
    if (!one.unreachable) {
      unreachable_since_.erase(one.rank);
      continue;
    }
    const auto since = unreachable_since_.try_emplace(one.rank, now).first->second;
    if (now - since < lost_after) continue;
    TRY(end_ranks(client_, state));
    one.phase = RankState::Phase::failed;
    one.why += fmt::format(" for {}s", std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
    state.phase = TrainState::Phase::failed;
    ended_others_ = true;
    return {};
  }
  if (waits_for_followers(state)) {
    if (!succeeded_since_ && io_.err_style.verbosity != report::Verbosity::quiet)
      io_.err(fmt::format("waiting for the other ranks to end ({}s)\n", followers_end_within.count()));
    if (!succeeded_since_) succeeded_since_ = now;
    if (now - *succeeded_since_ < followers_end_within) return {};
    TRY(end_ranks(client_, state));
    ended_others_ = true;
  }
  if (state.phase != TrainState::Phase::failed || state.jobs.size() <= 1 || ended_others_) return {};
  // One more read first: ending a rank deletes its pod, and a rank that was killed may be reported as running
  // when the one that lost its connection to it has failed.
  if (runs(state) && failed_reads_ == 0) return {};
  TRY(end_ranks(client_, state));
  ended_others_ = true;
  return {};
}

Result<TrainState> TrainFollow::turn(int rank, Others others) {
  TrainState state = TRY(read());
  if (state.queued) show_place(TRY(read_place(client_, state)));
  TRY(state.has_ended() ? logs_.print_all(state, rank) : logs_.print_next(state, rank));
  if (others == Others::ended) TRY(end_if_lost(state));
  if (state.phase == TrainState::Phase::failed) ++failed_reads_;
  return state;
}

Result<TrainState> TrainFollow::until_end(int rank, Others others, std::chrono::seconds limit) {
  const auto began = base::Clock::now();
  ReadFailures failures(io_);
  while (true) {
    auto state = turn(rank, others);
    const bool waits = state && others == Others::ended && waits_for_followers(*state);
    if (state && state->has_ended() && !waits) {
      // A rank that loses its connection to a killed one may be reported as failed before it.
      if (state->phase != TrainState::Phase::failed || !runs(*state) || failed_reads_ > 1) {
        logs_.report_unread();
        return state;
      }
      TRY(sleep());
    }
    if (state)
      failures.reset();
    else
      TRY(failures.tolerate(state.error()));
    if (limit.count() > 0 && base::Clock::now() - began >= limit)
      return base::fail(Fault::timeout,
                        fmt::format("train/{} has not ended within {}s", name_, limit.count()));
    TRY(sleep());
  }
}

Result<TrainState> TrainFollow::follow(std::chrono::seconds limit) {
  return until_end(-1, Others::ended, limit);
}

Result<TrainState> TrainFollow::watch(int rank) {
  return until_end(rank, Others::unchanged);
}

Outcome report_end(const TrainState& state, TrainSession& opened, Io& io) {
  if (state.phase == TrainState::Phase::succeeded) {
    if (io.err_style.verbosity != report::Verbosity::quiet)
      io.err(state.has_followers || state.ranks == 1
                 ? fmt::format("train/{} succeeded\n", state.name)
                 : fmt::format("train/{}: all {} ranks succeeded\n", state.name, state.ranks));
    return Outcome::done;
  }
  if (state.phase == TrainState::Phase::stopped) {
    io.err(fmt::format("train/{} was stopped\n", state.name));
    return Outcome::failed;
  }
  const RankState* failed = state.failed();
  const auto reason = reason_of(
      opened.cluster, {state.ns, failed && !failed->pod.empty() ? failed->pod : state.name}, *opened.client);
  // After a time limit the ranks are killed, and say no more than that.
  if (!failed || !state.why.empty())
    io.err(fmt::format("train/{} failed: {}\n", state.name,
                       !state.why.empty() ? base::printable(state.why, 200)
                       : reason           ? reason->what
                                          : "its ranks are gone"));
  else
    io.err(fmt::format("train/{} failed: rank {} on {}: {}\n", state.name, failed->rank,
                       failed->node.empty() ? "no node" : base::printable(failed->node, 80),
                       reason ? reason->what : failed->why));
  if (state.why.empty() && reason && !reason->fix.empty()) io.err(fmt::format("  fix: {}\n", reason->fix));
  io.err(fmt::format("  gpuadm train status {0} -n {1}; gpuadm train stop {0} -n {1} deletes it\n",
                     state.name, state.ns));
  return Outcome::failed;
}

}  // namespace commands
