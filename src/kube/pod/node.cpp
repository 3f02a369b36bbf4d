#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include "kube/pod/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

/// Reasons in the status of a pod that its node refused or ended.
constexpr std::array<Pattern, 14> ended_by_node = {
    {{{"UnexpectedAdmissionError*gpu is lost", "UnexpectedAdmissionError*fallen off the bus"},
      "gpu-failed",
      "a GPU of node {node} failed, so that the kubelet cannot allocate the pod's devices",
      "gpuadm doctor {node} --only gpu.health"},
     {{"UnexpectedAdmissionError*healthy devices"},
      "devices-unhealthy",
      "node {node} has no healthy GPU for the pod: its device plugin reports the GPUs as unhealthy, or has "
      "not "
      "reported since it started",
      "gpuadm doctor {node} --only gpu.health; kubectl -n {namespace} delete pod {pod}"},
     {{"TopologyAffinity"},
      "topology-affinity",
      "the kubelet of {node} cannot give the pod CPUs and devices of one NUMA node: {message}",
      "request fewer GPUs and CPUs, or set topologyManagerPolicy: best-effort for the kubelet of {node}"},
     {{"Evicted"}, "evicted", "node {node} evicted the pod: {message}", "kubectl describe node {node}"},
     {{"UnexpectedAdmissionError"},
      "device-allocation-failed",
      "the kubelet of {node} could not allocate the pod's devices: {message}",
      "gpuadm verify"},
     {{"OutOfnvidia", "OutOfgpu"},
      "gpus-in-use",
      "the GPUs of {node} were allocated to other pods before this pod started",
      "kubectl -n {namespace} delete pod {pod}"},
     {{"OutOf"},
      "node-out-of-resources",
      "node {node} had no capacity for the pod: {message}",
      "kubectl -n {namespace} delete pod {pod}"},
     {{"NodeAffinity"},
      "node-selector",
      "node {node} no longer has the labels that the pod requires",
      "kubectl label node {node} KEY=VALUE"},
     {{"TaintToleration"},
      "taint",
      "node {node} has a taint that the pod does not tolerate",
      "kubectl describe node {node}"},
     {{"NodeLost", "NodeUnreachable"},
      "node-lost",
      "node {node} is unreachable",
      "gpuadm doctor {node} --stage node"},
     {{"Shutdown", "Terminated"},
      "node-shutdown",
      "the pod ended because node {node} was shut down",
      "kubectl -n {namespace} delete pod {pod}"},
     {{"Preempt"},
      "preempted",
      "a pod with a higher priority replaced the pod",
      "add a node, or give the pod a priorityClassName"},
     {{"DeadlineExceeded"},
      "deadline-exceeded",
      "the pod ran longer than its activeDeadlineSeconds",
      "increase activeDeadlineSeconds"},
     {{"AppArmor", "SysctlForbidden", "PodAdmission"},
      "refused-by-kubelet",
      "the kubelet of {node} refused the pod: {message}",
      "kubectl describe node {node}"}}};

/// The volume in memory whose limit the pod exceeded; nullptr: it was something else.
const PodVolume* full_memory_volume(const Context& context) {
  const std::string name = between(context.pod.message, "EmptyDir volume \"", "\"");
  const auto place = std::ranges::find(context.pod.volumes, name, &PodVolume::name);
  return place != context.pod.volumes.end() && place->type == "Memory" ? &*place : nullptr;
}

PodLink evicted(const Context& context) {
  const std::string message = brief(context.pod.message);
  const auto link = [&](std::string reason, std::string what, std::string fix) {
    return broken("node", std::move(reason), std::move(what), {message}, std::move(fix));
  };
  if (const PodVolume* volume = full_memory_volume(context))
    return link(
        "evicted-shared-memory",
        fmt::format(
            "the pod was evicted because its volume {} in memory, its shared memory, exceeded "
            "sizeLimit{}",
            volume->name,
            volume->limit ? ": " + base::human_bytes(static_cast<unsigned long long>(*volume->limit)) : ""),
        fmt::format("increase sizeLimit of volume {}; notebooks and training jobs of gpuadm: --shm",
                    volume->name));
  if (const std::string volume = between(message, "EmptyDir volume \"", "\""); !volume.empty())
    return link(
        "evicted-disk", fmt::format("the pod was evicted because volume {} exceeded its sizeLimit", volume),
        fmt::format("increase sizeLimit of volume {}, or write to a volume of its own: gpuadm storage claim",
                    volume));
  if (mentions_any(message, {"ephemeral-storage", "ephemeral local storage", "DiskPressure", "nodefs",
                             "imagefs", "emptyDir volume"}))
    return link(
        "evicted-disk",
        mentions(message, "exceeds")
            ? "the pod was evicted because it used more disk space than its limit"
            : fmt::format("node {} evicted the pod because its disk was full", context.pod.node),
        mentions(message, "exceeds")
            ? "increase the limit of ephemeral-storage, or write to a volume: gpuadm storage claim"
            : fmt::format("free disk space on {0}: gpuadm doctor {0} --only host.disk", context.pod.node));
  if (mentions(message, "memory"))
    return link("evicted-memory",
                fmt::format("node {} evicted the pod because its memory was low", context.pod.node),
                "set the pod's memory request to what it uses: resources.requests.memory");
  return link("evicted", fmt::format("node {} evicted the pod", context.pod.node),
              "kubectl describe node " + context.pod.node);
}

/// Seconds since the last heartbeat of the node's kubelet.
std::string heartbeat(const Context& context) {
  const auto& cluster = context.view.cluster;
  if (!cluster.leases || !cluster.clock) return {};
  const auto lease = cluster.leases->find(context.pod.node);
  if (lease == cluster.leases->end()) return {};
  return fmt::format("last heartbeat of its kubelet at {}", clock_text(lease->second, cluster.clock));
}

PodLink deleted(const Context& context) {
  const std::string since = clock_text(*context.pod.deleted, context.view.cluster.clock);
  const auto* clock = context.view.cluster.clock ? &*context.view.cluster.clock : nullptr;
  if (!clock || *clock <= *context.pod.deleted)
    return pending("node", fmt::format("the pod is being deleted, until {}", since));
  return broken(
      "node", "deletion-overdue", fmt::format("the pod should have ended by {} and has not", since), {},
      fmt::format("kubectl -n {} delete pod {} --force --grace-period=0", context.pod.ns, context.pod.name));
}

/// Reasons of the condition DisruptionTarget
/// (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/).
PodLink disrupted(const Context& context, const PodCondition& condition) {
  constexpr std::array<Pattern, 4> disruptions = {
      {{{"PreemptionByScheduler"},
        "preempted",
        "the scheduler removed the pod from {node} for a pod with a higher priority{by}",
        "add a node, or give the pod a priorityClassName"},
       {{"DeletionByTaintManager"},
        "taint",
        "the pod was removed from {node}, which has a taint that it does not tolerate",
        "kubectl describe node {node}"},
       {{"EvictionByEvictionAPI"},
        "drained",
        "the pod was evicted from {node} through the API, as kubectl drain does",
        "kubectl get node {node}"},
       {{"DeletionByPodGC"},
        "node-removed",
        "the pod was removed with its node {node}, which is no longer in the cluster",
        "kubectl get nodes"}}};
  Words words = words_of(context, nullptr);
  std::vector<std::string> seen = {brief(condition.message)};
  const PodEvent* event = latest(context, {"Preempted", "TaintManagerEviction", "Evicted"});
  if (event) seen.push_back(evidence(*event, context.view));
  words["by"] = event && event->reason == "Preempted" ? ": " + brief(event->message, 160) : "";
  if (const Pattern* pattern = match(disruptions, condition.reason))
    return broken("node", *pattern, words, std::move(seen));
  return broken("node", "disrupted", "the pod was removed from its node: " + condition.reason,
                std::move(seen),
                fmt::format("kubectl -n {} describe pod {}", context.pod.ns, context.pod.name));
}

}  // namespace

PodLink node(const Context& context) {
  const Pod& pod = context.pod;
  const bool has_ended = pod.phase == "Succeeded" || pod.phase == "Failed";
  if (pod.reason == "Evicted") return evicted(context);
  // Only the message of this reason names what failed.
  const std::string failure =
      pod.reason == "UnexpectedAdmissionError" ? pod.reason + ": " + pod.message : pod.reason;
  if (!failure.empty())
    if (const Pattern* pattern = match(ended_by_node, failure)) {
      Words words = words_of(context, nullptr);
      words["message"] = brief(pod.message, 160);
      return broken("node", *pattern, words, {pod.reason + ": " + brief(pod.message)});
    }
  if (const auto place = pod.conditions.find("DisruptionTarget");
      has_ended && place != pod.conditions.end() && place->second.status == "True")
    return disrupted(context, place->second);
  if (has_ended) return passed("node", "the pod has ended");
  const facts::Node* on = node_named(context.view, pod.node);
  if (context.scope == Scope::pod_alone) return passed("node", "on node " + pod.node);
  if (!context.view.cluster.nodes) return pending("node", "the nodes could not be read");
  if (!on)
    return broken("node", "node-removed", fmt::format("node {} is no longer in the cluster", pod.node), {},
                  fmt::format("kubectl -n {} delete pod {} --force --grace-period=0", pod.ns, pod.name));
  if (!facts::is_ready(*on))
    return broken("node", "node-lost",
                  fmt::format("node {} is not Ready{}", pod.node,
                              on->message.empty() ? "" : ": " + brief(on->message, 160)),
                  {heartbeat(context)}, fmt::format("gpuadm doctor {} --stage node", pod.node));
  if (pod.deleted) return deleted(context);
  return passed("node", fmt::format("node {} is Ready", pod.node));
}

}  // namespace kube::pod
