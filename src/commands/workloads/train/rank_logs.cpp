#include "commands/workloads/train/rank_logs.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using workload::PodLog;
using workload::RankState;
using workload::TrainState;

constexpr std::chrono::seconds between_tries{1};
constexpr int tries = 3;
/// Of each log, and of all of them.
constexpr std::size_t most_bytes = 64u << 20, most_answer = 256u << 20;
constexpr std::size_t longest_head = 2048;  ///< with the reason of a failed read

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

Result<> RankLogs::print_all(const TrainState& state, int rank) {
  for (int failed = 0; failed < tries;) {
    TRY(print_next(state, rank));
    if (has_more_) continue;
    if (unread_.empty()) return {};
    if (++failed == tries) break;
    (void)client_.fleet().next_until(base::Clock::now() + between_tries);
    if (client_.fleet().interrupted()) return base::fail(Fault::interrupted, "interrupted");
  }
  return {};
}

void RankLogs::report_unread() const {
  for (const auto& [rank, why] : unread_)
    io_.err(fmt::format("rank {} of train/{}: its log could not be read completely: {}\n", rank, name_, why));
}

Result<> RankLogs::print_next(const TrainState& state, int rank) {
  std::vector<const RankState*> open;
  for (const RankState& one : state.states)
    if (has_log(one) && !one.pod.empty() && !complete_[one.pod] && (rank < 0 || one.rank == rank))
      open.push_back(&one);
  has_more_ = is_stuck_ = false;
  for (std::size_t next = 0; next < open.size();) {
    std::string requests;
    const std::size_t end = std::min(open.size(), next + most_answer / (most_ + longest_head)), first = next;
    for (; next < end; ++next) {
      const std::string& since = logs_[open[next]->pod].since();
      requests +=
          fmt::format("{} {} {}\n", open[next]->pod, open[next]->container, since.empty() ? "-" : since);
    }
    TRY(print_answer(TRY(read(requests, end - first)), state));
  }
  if (is_stuck_)
    most_ = std::min(most_ * 4, most_bytes);
  else if (!has_more_)
    most_ = usual_bytes;
  return {};
}

Result<std::string> RankLogs::read(const std::string& requests, std::size_t pods) {
  transport::Command command = TRY(session::command_of(
      {.label = "read the logs",
       .asset = "playbooks/read/pod-logs.sh",
       .variables = {{"namespace", ns_}, {"requests", requests}, {"most", std::to_string(most_)}},
       .api = true},
      client_.assets()));
  command.output_limit = most_answer;
  // The script reads eight at a time, for 22 s at most.
  command.timeout = std::chrono::seconds(60 + 22 * (pods / 8));
  transport::Exit exit = TRY(session::ask(client_.host(), std::move(command), client_.fleet()));
  if (exit.status == 0) return std::move(exit.out);
  return base::fail(Fault::remote,
                    fmt::format("{}: cannot read the logs: {}", client_.host(), base::tail(exit.err, 3)));
}

Result<> RankLogs::print_answer(std::string_view rest, const TrainState& state) {
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto head = end == std::string_view::npos ? std::nullopt : head_of(rest.substr(0, end));
    if (!head || head->bytes > rest.size() - end - 1)
      return base::fail(Fault::parse, client_.host() + ": cannot read the logs: invalid answer");
    const std::string_view text = rest.substr(end + 1, head->bytes);
    rest.remove_prefix(end + 1 + head->bytes);
    const auto one = std::ranges::find(state.states, head->pod, &RankState::pod);
    if (one == state.states.end()) continue;
    if (head->status == 0)
      print_log(*one, text);
    else
      unread_[one->rank] = text.empty() ? fmt::format("kubectl logs: exit status {}, no output", head->status)
                                        : base::tail(text, 2);
  }
  return {};
}

void RankLogs::print_log(const RankState& one, std::string_view text) {
  const bool ended = one.phase != RankState::Phase::running, cut = text.size() >= most_;
  const auto lines = logs_[one.pod].take(text, ended ? PodLog::Writer::ended : PodLog::Writer::runs,
                                         cut ? PodLog::End::cut : PodLog::End::complete);
  std::string shown;
  for (const std::string& line : lines)
    shown += fmt::format("[{}] {}\n", one.rank, base::printable(line, 64u << 10));
  if (!shown.empty()) io_.out(shown);
  unread_.erase(one.rank);
  complete_[one.pod] = ended && !cut;
  if (!cut) return;
  // Logs can only be requested from a whole second on.
  if (lines.empty() && most_ == most_bytes) {
    unread_[one.rank] = fmt::format("it has more than {} within one second", base::human_bytes(most_bytes));
    complete_[one.pod] = true;
    return;
  }
  has_more_ = true;
  is_stuck_ = is_stuck_ || lines.empty();
}

}  // namespace commands
