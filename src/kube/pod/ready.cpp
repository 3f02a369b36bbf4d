#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/last_error.hpp"

#include "kube/log/error_line.hpp"
#include "kube/pod/context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

/// Kubernetes sets only the condition of a pod to not ready if its node does not report.
bool is_unreported(const Pod& pod) {
  const auto place = pod.conditions.find("Ready");
  if (place == pod.conditions.end() || place->second.status != "False" ||
      place->second.reason == "ReadinessGatesNotReady")
    return false;
  bool any = false;
  for (const Container& one : pod.containers) {
    if (one.is_init) continue;
    if (one.state.kind != "running" || !one.ready) return false;
    any = true;
  }
  return any;
}

}  // namespace

void add_error_of_running(const Container& container, std::vector<std::string>& seen) {
  const LastError error = last_error(container.log);
  if (is_about_error(error.text)) seen.push_back("log: " + brief(error.text, 200));
}

std::optional<PodLink> probe_failure(const Context& context, const Container& container,
                                     const std::string& link) {
  const PodEvent* event = latest(context, {"Unhealthy"});
  if (!event) return std::nullopt;
  const bool is_startup = mentions(event->message, "startup");
  const char* kind = is_startup ? "startup" : "readiness";
  const Probe& probe = is_startup ? container.startup : container.readiness;
  const std::string target = probe.target.empty() ? "" : ": " + brief(probe.target, 120);
  const auto clock = context.view.cluster.clock;
  const auto started = container.state.started;
  const bool is_known = clock && started && !probe.target.empty();
  std::vector<std::string> seen = {evidence(*event, context.view)};
  add_error_of_running(container, seen);
  if (is_known && *clock - *started < probe.allowed()) {
    PodLink waits =
        pending(link,
                fmt::format("{} started {} ago and does not answer its {} probe yet, which allows {}{}",
                            named(container), base::human_seconds(*clock - *started), kind,
                            base::human_seconds(probe.allowed()), target),
                std::move(seen));
    waits.fix = "wait";
    return waits;
  }
  if (is_known)
    seen.push_back(fmt::format("it started {} ago, and the probe allows {}",
                               base::human_seconds(*clock - *started), base::human_seconds(probe.allowed())));
  return broken(link, fmt::format("{}-probe", kind),
                fmt::format("the {} probe of {} fails{}", kind, named(container), target), std::move(seen),
                fmt::format("kubectl -n {} logs {} -c {}", context.pod.ns, context.pod.name, container.name));
}

/// A container that has done its work, and another one that runs on and keeps the pod and its GPUs; nullptr:
/// none.
const Container* completed(const Pod& pod) {
  const auto runs = [](const Container& one) { return !one.is_init && one.state.kind == "running"; };
  const auto has_completed = [](const Container& one) {
    return !one.is_init && one.state.kind == "terminated" && one.state.exit_code == 0;
  };
  const auto found = std::ranges::find_if(pod.containers, has_completed);
  return found == pod.containers.end() || std::ranges::none_of(pod.containers, runs) ? nullptr : &*found;
}

PodLink ready(const Context& context) {
  if (context.pod.phase == "Succeeded") return passed("ready", "the pod has completed");
  const auto place = context.pod.conditions.find("Ready");
  if (place != context.pod.conditions.end() && place->second.status == "True")
    return passed("ready", "the pod is ready");
  if (is_unreported(context.pod))
    return broken("ready", "node-lost", fmt::format("node {} does not report its state", context.pod.node),
                  {}, fmt::format("gpuadm doctor {} --stage node", context.pod.node));
  if (const Container* ended = completed(context.pod)) {
    std::vector<std::string> names;
    for (const Container& one : context.pod.containers)
      if (!one.is_init && one.state.kind == "running") names.push_back(one.name);
    return broken(
        "ready", "sidecar-runs-on",
        fmt::format("{} has completed, and the pod keeps its resources while {} runs", named(*ended),
                    base::join(names, ", ")),
        {},
        fmt::format("make {} an init container with restartPolicy: Always (Kubernetes 1.29 and newer), "
                    "or end it when {} ends",
                    names.front(), ended->name));
  }
  for (const Container& container : context.pod.containers) {
    if (container.ready || container.is_init || container.state.kind != "running") continue;
    if (auto failure = probe_failure(context, container, "ready")) return std::move(*failure);
    const std::string& target = container.readiness.target;
    return pending("ready", fmt::format("{} is running and not ready yet", named(container)),
                   {target.empty() ? "" : "readiness probe: " + target});
  }
  if (place != context.pod.conditions.end() && place->second.reason == "ReadinessGatesNotReady")
    return broken("ready", "readiness-gate", "a readiness gate of the pod is not satisfied",
                  {brief(place->second.message)},
                  fmt::format("kubectl -n {} describe pod {}", context.pod.ns, context.pod.name));
  return pending("ready", "the pod is not ready yet");
}

}  // namespace kube::pod
