#include "app/undo/running_workloads.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using base::Fault;

constexpr int status_not_a_node = 3;
constexpr std::size_t pods_limit = 32u << 20;

/// What one host reports. Nothing: it is not a node.
Result<std::optional<workload::HostWorkloads>> parse(const std::string& host, const transport::Exit& exit) {
  if (exit.status == status_not_a_node) return std::nullopt;
  if (exit.status != 0 || exit.dropped > 0) {
    const std::string why = base::tail(exit.err, 1);
    return base::fail(Fault::remote, why.empty() ? fmt::format("exit status {}", exit.status) : why);
  }
  return TRY(workload::parse_host_workloads(exit.out, host));
}

}  // namespace

Result<RunningWorkloads> running_workloads(const std::vector<std::string>& hosts,
                                           std::vector<std::string> leaving, transport::Fleet& fleet,
                                           const assets::Store& assets) {
  transport::Command command = TRY(session::command_of(
      {.label = "read the running workloads", .asset = "playbooks/read/workloads.sh"}, assets));
  command.output_limit = pods_limit;
  for (const std::string& host : hosts) fleet.submit(host, command);
  RunningWorkloads running;
  std::vector<workload::HostWorkloads> reports;
  const bool all_leave = leaving.empty();
  while (auto completion = fleet.next()) {
    const auto report =
        completion->result
            ? parse(completion->host, *completion->result)
            : Result<std::optional<workload::HostWorkloads>>(std::unexpected(completion->result.error()));
    if (!report) {
      running.unread.push_back(
          fmt::format("{}: {}", completion->host, base::without_host(report.error().what, completion->host)));
    } else if (*report) {
      if (all_leave && !(*report)->node.empty()) leaving.push_back((*report)->node);
      reports.push_back(**report);
    }
  }
  if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted while reading workloads");
  running.lines = workload::stranded(reports, leaving);
  return running;
}

Result<> refuse_to_strand(const RunningWorkloads& running, bool force) {
  if (running.lines.empty() || force) return {};
  const std::size_t count = running.lines.size();
  return base::fail(Fault::blocked,
                    fmt::format("{} workload{} would end: {}", count, count == 1 ? "" : "s",
                                base::printable(base::join(running.lines, ", "), 2000)),
                    "stop or delete them first (gpuadm workload list), or add --force");
}

}  // namespace app
