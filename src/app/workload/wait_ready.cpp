#include "app/workload/wait_ready.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/state.hpp"

#include "app/inspect/explain_pod.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using namespace std::chrono_literals;
using base::Fault;
using workload::PodStart;

constexpr std::chrono::seconds slice{1};   ///< of waiting on the node, after which the state is shown
constexpr auto between_queries = 250ms;    ///< at least: the Deployment may be available while its pod is not
constexpr std::chrono::seconds doubt{45};  ///< how long a problem may last that may pass

std::string seconds(std::chrono::seconds time) {
  return base::human_seconds(static_cast<double>(time.count()));
}

/// The error of a pod that does not become ready. `state`: what its own status says, if it cannot be
/// explained.
std::unexpected<base::Error> not_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                                       const PodStart& start, Fault fault, const std::string& state) {
  const cluster::PodName name{awaited.space, start.pod.empty() ? awaited.name : start.pod};
  const auto reason = reason_of(cluster.spec(), name, cluster.client());
  const std::string what = reason ? reason->what : start.why;
  return base::fail(fault,
                    state.empty()  ? what
                    : what.empty() ? state
                                   : fmt::format("{}: {}", state, what),
                    reason ? reason->fix : "");
}

}  // namespace

Result<std::string> wait_ready(ReachedCluster& cluster, const AwaitedPod& awaited,
                               std::chrono::seconds patience, Io& io) {
  const base::Instant until = base::Clock::now() + patience;
  base::Instant doubtful_since = base::Clock::now();
  std::string shown;
  while (true) {
    const base::Instant asked = base::Clock::now();
    const auto objects = TRY(cluster.client().get({.kinds = {"deployments.apps", "pods"},
                                                   .space = awaited.space,
                                                   .selector = awaited.selector,
                                                   .available_within = slice}));
    const PodStart start = workload::read_start(objects);
    if (start.stage == PodStart::Stage::ready) return start.node;
    const base::Instant now = base::Clock::now();
    if (start.outlook != PodStart::Outlook::doubtful) doubtful_since = now;
    if (start.outlook == PodStart::Outlook::lost || now - doubtful_since >= doubt)
      return not_ready(cluster, awaited, start, Fault::remote, "");
    std::string line = workload::describe(start);
    if (now >= until)
      return not_ready(cluster, awaited, start, Fault::timeout,
                       fmt::format("{}: not within {}", line, seconds(patience)));
    if (!start.why.empty()) line += ": " + start.why;
    if (line != shown && io.err_style.verbosity != report::Verbosity::quiet)
      io.err(fmt::format("{} (at most {})\n", line, seconds(patience)));
    shown = line;
    if (now - asked < between_queries) TRY(cluster.pause(between_queries));
  }
}

}  // namespace app
