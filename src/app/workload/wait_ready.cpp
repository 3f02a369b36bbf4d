#include "app/workload/wait_ready.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/state.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using workload::PodStart;

constexpr auto between_queries = 1000ms;
constexpr std::chrono::seconds doubt{45};  ///< how long a problem may last that may pass

std::string seconds(std::chrono::seconds time) {
  return base::human_seconds(static_cast<double>(time.count()));
}

/// Why a pod does not run, with the last warning about it if its own state has no reason.
std::string why_not_running(ReachedCluster& cluster, const std::string& space, const PodStart& start) {
  if (!start.why.empty() || start.pod.empty()) return start.why;
  const auto events = cluster.client().get({.kinds = {"events"}, .space = space, .selector = {}});
  return events ? workload::last_warning(*events, start.pod) : "";
}

}  // namespace

Result<std::string> wait_ready(ReachedCluster& cluster, const std::string& space, const std::string& selector,
                               std::chrono::seconds patience, Io& io) {
  const base::Instant until = base::Clock::now() + patience;
  base::Instant doubtful_since = base::Clock::now();
  std::string shown, reason;
  while (true) {
    const auto objects = TRY(
        cluster.client().get({.kinds = {"deployments.apps", "pods"}, .space = space, .selector = selector}));
    const PodStart start = workload::read_start(objects);
    if (start.stage == PodStart::Stage::ready) return start.node;
    // While a pull is repeated, only the first message has the registry's answer.
    if (!start.why.empty() &&
        !(reason.starts_with("cannot pull") && start.why.find("Back-off") != std::string::npos))
      reason = start.why;
    if (start.outlook != PodStart::Outlook::doubtful) doubtful_since = base::Clock::now();
    const bool too_doubtful = base::Clock::now() - doubtful_since >= doubt;
    if (start.outlook == PodStart::Outlook::lost || too_doubtful) return base::fail(Fault::remote, reason);
    if (base::Clock::now() >= until) {
      const std::string why = why_not_running(cluster, space, start);
      return base::fail(Fault::timeout, fmt::format("{}: not within {}{}{}", workload::describe(start),
                                                    seconds(patience), why.empty() ? "" : ": ", why));
    }
    std::string line = workload::describe(start);
    if (!start.why.empty()) line += ": " + reason;
    if (line != shown && io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("{} (at most {})\n", line, seconds(patience)));
    shown = line;
    TRY(cluster.pause(between_queries));
  }
}

}  // namespace app
