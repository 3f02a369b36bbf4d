#include "commands/undo/running_workloads.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace commands {

namespace {

using base::Fault;

constexpr int status_not_a_node = 3;
constexpr std::size_t pods_limit = 32u << 20;

/// What one host reports.
Result<workload::HostWorkloads> parse(const std::string& host, const transport::Exit& exit) {
  if (exit.status != 0 || exit.dropped > 0) {
    const std::string why = base::tail(exit.err, 1);
    return base::fail(Fault::remote, !why.empty()       ? why
                                     : exit.dropped > 0 ? std::string("its list of pods is too long")
                                                        : fmt::format("exit status {}", exit.status));
  }
  return workload::parse_host_workloads(exit.out, host);
}

}  // namespace

RunningWorkloads judge_workloads(std::span<const transport::Completion> answers,
                                 std::vector<std::string> leaving) {
  RunningWorkloads running;
  std::vector<workload::HostWorkloads> reports;
  std::vector<std::string> workers;  // that did not show theirs
  const bool all_leave = leaving.empty();
  bool silent = false;  // a control plane
  for (const auto& [host, result, ended] : answers) {
    if (result && result->status == status_not_a_node) continue;
    const workload::HostWorkloads about =
        result ? workload::parse_host_of_workloads(result->out) : workload::HostWorkloads{};
    if (all_leave && !about.node.empty()) leaving.push_back(about.node);
    auto report =
        result ? parse(host, *result) : Result<workload::HostWorkloads>(std::unexpected(result.error()));
    if (report) {
      reports.push_back(std::move(*report));
      continue;
    }
    const bool answers_nothing = all_leave && about.silent;
    const bool is_worker = all_leave && result && !about.silent && about.planes.empty();
    silent = silent || answers_nothing;
    (answers_nothing ? running.silent
     : is_worker     ? workers
                     : running.unread)
        .push_back(fmt::format("{}: {}", host, base::without_host(report.error().what, host)));
  }
  // A control plane that leaves with them lists the pods of all nodes, or has none that answers.
  const bool listed = std::ranges::any_of(reports, [](const auto& report) { return !report.planes.empty(); });
  if (!all_leave || !listed)
    std::ranges::move(workers, std::back_inserter(silent ? running.silent : running.unread));
  running.lines = workload::stranded(reports, leaving);
  return running;
}

Result<RunningWorkloads> running_workloads(const std::vector<std::string>& hosts,
                                           std::vector<std::string> leaving, transport::Fleet& fleet,
                                           const assets::Store& assets) {
  transport::Command command = TRY(session::command_of(
      {.label = "read the running workloads", .asset = "playbooks/read/workloads.sh"}, assets));
  command.output_limit = pods_limit;
  for (const std::string& host : hosts) fleet.submit(host, command);
  std::vector<transport::Completion> answers;
  while (auto completion = fleet.next()) answers.push_back(std::move(*completion));
  if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted while reading workloads");
  return judge_workloads(answers, std::move(leaving));
}

Result<> refuse_to_strand(const RunningWorkloads& running, bool force) {
  if (force) return {};
  if (running.lines.empty() && running.unread.empty()) return {};
  if (running.lines.empty())
    return base::fail(Fault::blocked,
                      "workloads may run that would end, because they could not be read: " +
                          base::printable(base::join(running.unread, ", "), 2000),
                      "run the same command again when the API server answers (gpuadm workload list), or add "
                      "--force");
  const std::size_t count = running.lines.size();
  return base::fail(Fault::blocked,
                    fmt::format("{} workload{} would end: {}", count, count == 1 ? "" : "s",
                                base::printable(base::join(running.lines, ", "), 2000)),
                    "stop or delete them first (gpuadm workload list), or add --force");
}

}  // namespace commands
