#include "gpuadm/kube/overview.hpp"

#include "kube/pod/context.hpp"

namespace kube {

Pod pod_of(const facts::Pod& row) {
  Pod pod;
  pod.ns = row.ns;
  pod.name = row.name;
  pod.node = row.node;
  pod.phase = row.phase;
  pod.reason = row.reason;
  if (!row.ready.empty()) pod.conditions["Ready"] = {row.ready, {}, {}};
  if (!row.unscheduled.empty()) pod.conditions["PodScheduled"] = {"False", {}, row.unscheduled};
  const auto add = [&](const char* kind, const std::string& reason) {
    Container& container = pod.containers.emplace_back();
    container.has_status = true;
    container.restarts = row.restarts;
    container.state.kind = kind;
    container.state.reason = reason;
    container.state.message = row.waits_for;
    container.state.exit_code = kind == std::string_view("terminated") ? 1 : 0;
    container.image = pod::between(row.waits_for, "image \"", "\"");
  };
  for (const std::string& reason : row.waiting) add("waiting", reason);
  for (const std::string& reason : row.crashed) add("terminated", reason);
  return pod;
}

std::optional<PodLink> image_problem(const facts::Pod& row, const facts::ClusterFacts& cluster) {
  static const PodView nothing;
  const Pod pod = pod_of(row);
  std::vector<PodEvent> events;
  if (cluster.events)
    for (const facts::Event& event : *cluster.events)
      if (event.kind == "Pod" && event.ns == row.ns && event.name == row.name) {
        PodEvent& one = events.emplace_back();
        one.reason = event.reason;
        one.message = event.message;
      }
  pod::Context context{.view = nothing, .pod = pod, .scope = pod::Scope::pod_alone};
  for (const PodEvent& event : events) context.events.push_back(&event);
  PodLink link = pod::image(context);
  if (link.state != LinkState::broken) return std::nullopt;
  return link;
}

}  // namespace kube
