#include "gpuadm/base/text.hpp"

#include "kube/pod/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kube::pod {

namespace {

constexpr double scheduler_timeout = 15;  // seconds that a scheduler may need for a new pod

/// Reasons of the scheduler that gpuadm does not evaluate itself.
struct SchedulerText {
  std::string_view part, reason, what, fix;
};
constexpr std::array<SchedulerText, 11> scheduler_texts = {
    {{"volume node affinity conflict", "volume-on-another-node", "a volume of the pod is on another node",
      "kubectl describe persistentvolume"},
     {"anti-affinity", "pod-anti-affinity", "the pod's anti-affinity excludes all nodes that could take it",
      "change spec.affinity.podAntiAffinity, or add a node"},
     {"pod affinity", "pod-affinity", "no node has the pods that the pod's affinity requires",
      "change spec.affinity.podAffinity"},
     {"missing required label", "topology-label",
      "no node that could take the pod has the label that its topology spread constraints name",
      "label the nodes with topologyKey of spec.topologySpreadConstraints: kubectl label nodes NODE "
      "KEY=VALUE"},
     {"topology spread", "topology-spread", "the topology spread constraints exclude all nodes",
      "change spec.topologySpreadConstraints"},
     {"free ports", "host-port", "a host port of the pod is in use on all nodes that could take it",
      "change or remove hostPort"},
     {"max volume count", "too-many-volumes", "all nodes have the maximum number of volumes",
      "remove volumes, or add a node"},
     {"gang", "gang-incomplete",
      "the scheduler places all pods of the group at once, and not all of them fit",
      "free resources, add a node, or request less for each pod of the group"},
     {"allocate all claims", "resource-claim-pending",
      "the pod's ResourceClaims cannot be allocated on any node", "kubectl get resourceclaims"},
     {"too many pods", "too-many-pods", "the nodes that could take the pod have as many pods as they may",
      "delete pods, add a node, or increase maxPods of the kubelets: patches: { kubelet: { maxPods: N } }"},
     {"persistentvolumeclaim", "claim-pending", "a PersistentVolumeClaim of the pod is not bound",
      "kubectl get persistentvolumeclaims"}}};

}  // namespace

std::string scheduler_message(const Context& context) {
  const auto place = context.pod.conditions.find("PodScheduled");
  if (place != context.pod.conditions.end() && place->second.status == "False" &&
      !place->second.message.empty())
    return "scheduler: " + brief(place->second.message);
  const auto* event = latest(context, {"FailedScheduling"});
  return event ? "scheduler: " + brief(event->message) : std::string();
}

PodLink by_scheduler(const Context& context) {
  const std::string message = scheduler_message(context);
  for (const SchedulerText& text : scheduler_texts)
    if (mentions(message, text.part))
      return broken("scheduled", std::string(text.reason), std::string(text.what), {message},
                    std::string(text.fix));
  if (!message.empty())
    return broken("scheduled", "unschedulable",
                  "the scheduler finds no node for the pod" + message.substr(message.find(':')), {message},
                  fmt::format("kubectl -n {} describe pod {}", context.pod.ns, context.pod.name));
  const auto clock = context.view.cluster.clock;
  if (clock && context.pod.created && *clock - *context.pod.created < scheduler_timeout)
    return pending("scheduled", "the scheduler has not processed the pod yet");
  if (!context.pod.scheduler.empty() && context.pod.scheduler != "default-scheduler")
    return broken("scheduled", "scheduler-missing",
                  fmt::format("no scheduler has processed the pod: it requires the scheduler {}",
                              context.pod.scheduler),
                  {}, "remove spec.schedulerName, or install that scheduler");
  std::vector<std::string> seen;
  if (context.view.uses)
    for (const PodUse& use : *context.view.uses)
      if (use.ns == "kube-system" && use.name.starts_with("kube-scheduler"))
        seen.push_back(fmt::format("pod {}: {}", use.name,
                                   use.ready == "True"   ? "ready"
                                   : use.waiting.empty() ? "not ready"
                                                         : use.waiting));
  return broken("scheduled", "scheduler-not-running", "no scheduler has processed the pod", seen,
                "gpuadm logs kube-scheduler");
}

std::optional<PodLink> gated(const Context& context) {
  if (const auto queue = context.pod.labels.find("kueue.x-k8s.io/queue-name");
      queue != context.pod.labels.end() &&
      std::ranges::any_of(context.pod.gates,
                          [](const std::string& gate) { return gate.starts_with("kueue.x-k8s.io/"); })) {
    const PodEvent* last = workload_event(context.view, "pod-" + context.pod.name + "-");
    const std::string why = last ? ": " + brief(last->message) : "";
    PodLink waits =
        pending("scheduled", fmt::format("the pod waits in the queue {} of Kueue{}", queue->second, why),
                {"scheduling gates: " + base::join(context.pod.gates, ", ")});
    waits.reason = "queued";
    waits.fix = fmt::format("gpuadm workload list -n {}", context.pod.ns);
    return waits;
  }
  if (!context.pod.gates.empty())
    return broken("scheduled", "scheduling-gate",
                  "the pod waits for its scheduling gates: " + base::join(context.pod.gates, ", "), {},
                  "the controller that set the gates must remove them");
  return std::nullopt;
}

}  // namespace kube::pod
