#include "commands/workloads/wait_ready.hpp"

#include "gpuadm/base/text.hpp"

#include "commands/inspect/explain_pod.hpp"
#include "commands/workloads/read_failures.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using workload::PodStart;

constexpr std::chrono::seconds between_reads{1};
constexpr std::chrono::seconds doubt{45};  ///< how long a problem may last that may pass

std::string seconds(std::chrono::seconds time) {
  return base::human_seconds(static_cast<double>(time.count()));
}

/// Waits on the node until the Deployment is available, one read long at most.
Result<PodStart> read_pod(const AwaitedPod& awaited, session::ClusterClient& client) {
  return workload::read_start(TRY(client.get({.kinds = {"deployments.apps", "pods"},
                                              .space = awaited.space,
                                              .selector = awaited.selector,
                                              .available_within = between_reads})));
}

std::string line_of(const PodStart& start) {
  return workload::describe(start) + (start.why.empty() ? "" : ": " + start.why);
}

}  // namespace

Result<> wait_until_ready(ReachedCluster& cluster, std::chrono::seconds patience,
                          const std::function<Result<ReadyProgress>()>& read,
                          const std::function<base::Error(Fault)>& not_ready, Io& io) {
  const base::Instant until = base::Clock::now() + patience;
  base::Instant doubtful_since = base::Clock::now();
  ReadFailures failures(io);
  std::string shown;
  while (true) {
    const base::Instant began = base::Clock::now();
    const auto answer = read();
    const base::Instant now = base::Clock::now();
    if (!answer) {
      TRY(failures.tolerate(answer.error()));
      if (now >= until) return std::unexpected(answer.error());
      doubtful_since = now;
      TRY(cluster.pause(between_reads));
      continue;
    }
    failures.reset();
    const ReadyProgress& progress = *answer;
    if (progress.ready) return {};
    if (progress.outlook != PodStart::Outlook::doubtful) doubtful_since = now;
    if (progress.outlook == PodStart::Outlook::lost || now - doubtful_since >= doubt)
      return std::unexpected(not_ready(Fault::remote));
    if (now >= until) {
      base::Error error = not_ready(Fault::timeout);
      error.what += fmt::format(" (not within {})", seconds(patience));
      return std::unexpected(std::move(error));
    }
    if (progress.line != shown && io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("{} (at most {})\n", progress.line, seconds(patience)));
    shown = progress.line;
    if (now - began < between_reads)
      TRY(cluster.pause(std::chrono::ceil<std::chrono::milliseconds>(began + between_reads - now)));
  }
}

Result<std::string> wait_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                               std::chrono::seconds patience, Io& io) {
  PodStart start;
  const auto read = [&]() -> Result<ReadyProgress> {
    start = TRY(read_pod(awaited, cluster.client()));
    return ReadyProgress{start.stage == PodStart::Stage::ready, start.outlook, line_of(start)};
  };
  const auto not_ready = [&](Fault fault) {
    const cluster::PodName name{awaited.space, start.pod.empty() ? awaited.name : start.pod};
    const auto reason = reason_of(cluster.spec(), name, cluster.client());
    std::string what = reason ? reason->what : start.why;
    if (fault == Fault::timeout) what = workload::describe(start) + (what.empty() ? "" : ": " + what);
    return base::Error{fault, std::move(what), reason ? reason->fix : ""};
  };
  TRY(wait_until_ready(cluster, patience, read, not_ready, io));
  return start.node;
}

}  // namespace commands
