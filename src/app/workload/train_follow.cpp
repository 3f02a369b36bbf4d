#include "app/workload/train_follow.hpp"

#include "gpuadm/base/text.hpp"

#include "app/inspect/explain_pod.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

namespace {

using base::Fault;
using workload::PodLog;
using workload::RankState;
using workload::TrainState;

constexpr std::chrono::seconds interval{1}, lost_after{30}, patience{60};
constexpr std::size_t usual_bytes = 4u << 20, most_bytes = 64u << 20;

bool is_transient(Fault fault) {
  return fault == Fault::remote || fault == Fault::timeout || fault == Fault::unreachable;
}

bool has_log(const RankState& one) {
  return one.phase == RankState::Phase::running || one.phase == RankState::Phase::succeeded ||
         one.phase == RankState::Phase::failed;
}

/// "POD STATUS BYTES"
struct Head {
  std::string pod;
  long long status = 0;
  std::size_t bytes = 0;
};

std::optional<Head> head_of(std::string_view line) {
  const auto words = base::words(line);
  if (words.size() != 3) return std::nullopt;
  const auto status = base::to_int(words[1]), bytes = base::to_int(words[2]);
  if (!status || !bytes || *bytes < 0) return std::nullopt;
  return Head{std::string(words[0]), *status, static_cast<std::size_t>(*bytes)};
}

}  // namespace

Result<TrainState> TrainFollow::read() {
  return read_train_state(client_, space_, name_);
}

Result<> TrainFollow::sleep() {
  (void)client_.fleet().next_until(base::Clock::now() + interval);
  if (client_.fleet().interrupted()) return base::fail(Fault::interrupted, "interrupted");
  return {};
}

Result<TrainState> TrainFollow::wait_for_start(std::chrono::seconds limit) {
  const auto deadline = base::Clock::now() + limit;
  std::string shown;
  while (true) {
    TrainState state = TRY(read());
    // A short job may have ended before all of its ranks were seen running.
    if (state.all_started() || state.has_ended()) return state;
    const std::string progress = progress_of(state);
    if (progress != shown && io_.err_style.verbosity != report::Verbosity::quiet)
      io_.err(fmt::format("waiting for train/{} (at most {}s): {}\n", name_, limit.count(), progress));
    shown = progress;
    const auto hopeless = std::ranges::find_if(state.states, &RankState::hopeless);
    if (hopeless != state.states.end()) {
      const auto reason = reason_of(hosts_, {space_, hopeless->pod}, client_);
      return base::fail(Fault::blocked,
                        fmt::format("rank {} of train/{} cannot start: {}", hopeless->rank, name_,
                                    reason ? reason->what : hopeless->why),
                        reason ? reason->fix : "");
    }
    if (base::Clock::now() >= deadline) {
      const RankState* waiting = state.waiting();
      const auto reason =
          reason_of(hosts_, {space_, waiting && !waiting->pod.empty() ? waiting->pod : name_}, client_);
      return base::fail(Fault::timeout,
                        fmt::format("train/{} did not start within {}s: {}", name_, limit.count(),
                                    reason ? reason->what : progress),
                        reason && !reason->fix.empty() ? reason->fix : "--wait SECONDS waits longer");
    }
    TRY(sleep());
  }
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
  if (state.phase == TrainState::Phase::failed && state.jobs.size() > 1 && !ended_others_) {
    TRY(end_ranks(client_, state));
    ended_others_ = true;
  }
  return {};
}

Result<TrainState> TrainFollow::turn(int rank, Others others) {
  TrainState state = TRY(read());
  TRY(print_logs(state, rank));
  if (others == Others::ended) TRY(end_if_lost(state));
  return state;
}

Result<TrainState> TrainFollow::until_end(int rank, Others others, std::chrono::seconds limit) {
  const auto began = base::Clock::now();
  std::optional<base::Instant> failing_since;
  bool is_settled = false;
  while (true) {
    auto state = turn(rank, others);
    const auto now = base::Clock::now();
    if (state && state->has_ended()) {
      // A rank that loses its connection to a killed one may be reported as failed before it.
      const bool runs = std::ranges::any_of(
          state->states, [](const RankState& one) { return one.phase == RankState::Phase::running; });
      if (state->phase != TrainState::Phase::failed || !runs || is_settled) return state;
      is_settled = true;
      TRY(sleep());
    }
    if (state) failing_since.reset();
    // The job does not depend on this connection, so a short failure of the API server or the network is none
    // of the job.
    if (!state && (!is_transient(state.error().fault) || now - failing_since.value_or(now) > patience))
      return state;
    if (!state && !failing_since) {
      failing_since = now;
      io_.err(
          fmt::format("{}; repeated for {}s\n", base::printable(state.error().what, 300), patience.count()));
    }
    if (limit.count() > 0 && now - began >= limit)
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

Result<> TrainFollow::print_logs(const TrainState& state, int rank) {
  most_ = std::max(most_, usual_bytes);
  std::string requests;
  for (const RankState& one : state.states) {
    if (!has_log(one) || one.pod.empty() || complete_[one.pod] || (rank >= 0 && one.rank != rank)) continue;
    const std::string& since = logs_[one.pod].since();
    requests += fmt::format("{} {} {}\n", one.pod, one.container, since.empty() ? "-" : since);
  }
  if (requests.empty()) return {};
  transport::Command command = TRY(session::command_of(
      {.label = "read the logs",
       .asset = "playbooks/read/pod-logs.sh",
       .variables = {{"space", space_}, {"requests", requests}, {"most", std::to_string(most_)}}},
      client_.assets()));
  command.output_limit = 256u << 20;
  const transport::Exit exit = TRY(session::ask(client_.host(), std::move(command), client_.fleet()));
  if (exit.status != 0)
    return base::fail(Fault::remote,
                      fmt::format("{}: cannot read the logs: {}", client_.host(), base::tail(exit.err, 3)));
  return print_answer(exit.out, state);
}

Result<> TrainFollow::print_answer(const std::string& answer, const TrainState& state) {
  std::string_view rest = answer;
  bool stuck = false;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto head = end == std::string_view::npos ? std::nullopt : head_of(rest.substr(0, end));
    if (!head || head->bytes > rest.size() - end - 1)
      return base::fail(Fault::parse, client_.host() + ": cannot read the logs: invalid answer");
    const std::string_view text = rest.substr(end + 1, head->bytes);
    rest.remove_prefix(end + 1 + head->bytes);
    const auto one = std::ranges::find(state.states, head->pod, &RankState::pod);
    if (one == state.states.end()) continue;
    const bool ended = one->phase != RankState::Phase::running, cut = head->bytes >= most_;
    const auto lines = logs_[head->pod].take(text, ended ? PodLog::Writer::ended : PodLog::Writer::runs,
                                             cut ? PodLog::End::cut : PodLog::End::complete);
    std::string shown;
    for (const std::string& line : lines)
      shown += fmt::format("[{}] {}\n", one->rank, base::printable(line, 64u << 10));
    if (!shown.empty()) io_.out(shown);
    // A failed request is repeated; after the end of a pod it only fails if the pod is gone.
    complete_[head->pod] = ended && !cut;
    stuck = stuck || (cut && lines.empty());
  }
  most_ = stuck ? std::min(most_ * 4, most_bytes) : usual_bytes;
  return {};
}

Outcome report_end(const TrainState& state, TrainSession& opened, Io& io) {
  if (state.phase == TrainState::Phase::succeeded) {
    if (io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("train/{}: all {} ranks succeeded\n", state.name, state.ranks));
    return Outcome::done;
  }
  if (state.phase == TrainState::Phase::stopped) {
    io.err(fmt::format("train/{} was stopped\n", state.name));
    return Outcome::failed;
  }
  const RankState* failed = state.failed();
  const auto reason =
      reason_of(opened.cluster, {state.space, failed && !failed->pod.empty() ? failed->pod : state.name},
                *opened.client);
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
                     state.name, state.space));
  return Outcome::failed;
}

}  // namespace app
