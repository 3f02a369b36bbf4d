#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/overview.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kubelet/reasons.hpp"
#include "checks/last_lines.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

/// Pods, and what prevents them from running.
namespace checks {

namespace {

/// The remedy for a waiting pod, by its reason.
std::string remedy_for(const facts::Pod& pod) {
  const std::string why = trouble_of(pod);
  const std::string where = fmt::format("-n {} {}", pod.ns, pod.name);
  if (why == "CrashLoopBackOff") return "kubectl logs --previous " + where;
  if (why == "OOMKilled") return "raise the memory limit of " + pod.full();
  if (why == "Evicted") return "free the node's disk or memory; kubectl delete pod " + where;
  return "gpuadm explain pod " + pod.full();
}

/// Messages that add nothing to the reason: "Back-off pulling image …", "back-off 5m0s restarting failed …".
bool is_back_off(std::string_view message) {
  return base::lower(message).starts_with("back-off");
}

/// The newest event of a pod, "FailedCreatePodSandBox: …"; a back-off event only if there is no other.
std::string newest_event(const Whole& w, const facts::Pod& pod) {
  std::string newest, back_off;
  if (w.facts.events)
    for (const facts::Event& event : *w.facts.events)
      if (event.kind == "Pod" && event.ns == pod.ns && event.name == pod.name)
        (event.reason == "BackOff" ? back_off : newest) = event.reason + ": " + event.message;
  return newest.empty() ? back_off : newest;
}

/// Why a pod waits: its container's reason, otherwise the scheduler's, otherwise its newest event.
std::string more_of(const Whole& w, const facts::Pod& pod) {
  const bool is_brief = pod.waits_for.empty() || is_back_off(pod.waits_for);
  if (!pod.unscheduled.empty() && pod.waits_for.empty()) return pod.unscheduled;
  const std::string event = is_brief ? newest_event(w, pod) : std::string();
  return event.empty() ? pod.waits_for : event;
}

std::string why_of(const Whole& w, const facts::Pod& pod) {
  const std::string more = more_of(w, pod);
  return fmt::format("{}: {}{}{}", pod.full(), trouble_of(pod), more.empty() ? "" : ", ", more);
}

/// The last words of a pod of Kubernetes or of NVIDIA, if they were read.
std::optional<LastLine> last_words_of(const Whole& w, const facts::Pod& pod) {
  // NVIDIA's plugins and drivers, whatever their namespace.
  const auto rows = contains(pod.name, "nvidia") ? plugin_lines() : pod_lines();
  if (const auto log = w.facts.pod_logs.find(pod.full()); log != w.facts.pod_logs.end())
    return last_line(log->second, rows);
  if (const auto log = w.facts.plugin_logs.find(pod.name); log != w.facts.plugin_logs.end())
    return last_line(log->second, plugin_lines());
  // The message of a container that ended.
  if (!pod.waits_for.empty() && !is_back_off(pod.waits_for))
    return LastLine{pod.waits_for, known_of(pod.waits_for, rows)};
  return std::nullopt;
}

/// The same without the pod's name: for one line.
std::string short_why(const Whole& w, const facts::Pod& pod) {
  const auto words = last_words_of(w, pod);
  const std::string more = more_of(w, pod);
  const bool quoted = words && ((words->known && !words->known->cause.empty()) || more.empty() ||
                                more.starts_with("BackOff") || is_back_off(more));
  const std::string last = quoted ? words->message() : last_clause(more);
  return trouble_of(pod) + (last.empty() ? "" : ": " + last);
}

void system_pod(const Whole& w, const facts::Pod& pod, Verdicts& out) {
  const auto words = last_words_of(w, pod);
  const bool logged = words && words->line != pod.waits_for;
  out.fail(Severity::blocker, fmt::format("the pod {} does not run: {}", pod.full(), short_why(w, pod)),
           logged ? why_of(w, pod) + "; " + words->evidence("its log") : why_of(w, pod),
           words ? words->remedy(remedy_for(pod)) : remedy_for(pod));
  // The log of a device plugin has a check of its own.
  if (words && contains(pod.name, "nvidia-device-plugin")) out.follows("gk.device-plugin-logs");
}

/// Of pods of the last hour that no other finding explains: the kubelet's repeated errors about them.
void failing_events(const Whole& w, const std::vector<facts::Pod>& pods, Verdicts& out) {
  constexpr int often = 5;
  if (!w.facts.events) return;
  std::map<std::string, const facts::Event*> by_pod;
  for (const facts::Event& event : *w.facts.events) {
    const bool ends = event.reason == "FailedKillPod" || event.reason == "FailedPreStopHook";
    if (event.kind != "Pod" || event.count < often ||
        (!ends && !event.reason.starts_with("FailedCreatePodSandBox")))
      continue;
    const auto pod = std::ranges::find_if(
        pods, [&](const facts::Pod& one) { return one.ns == event.ns && one.name == event.name; });
    // A pod that runs was started in the end; one that does not is reported with its newest event.
    if (pod != pods.end() && (!ends || !is_well(*pod))) continue;
    by_pod[event.ns + "/" + event.name] = &event;
  }
  for (const auto& [pod, event] : by_pod) {
    const KnownLine* known = known_of(event->message, pod_lines());
    const bool ends = !event->reason.starts_with("FailedCreate");
    const std::string why = last_clause(event->message);
    out.fail(Severity::warning,
             fmt::format("the pod {} cannot be {}: {}", pod, ends ? "stopped" : "started",
                         known && !known->cause.empty() ? std::string(known->cause) : why),
             fmt::format("{} events {}: {}", event->count, event->reason, event->message),
             known ? std::string(known->remedy)
                   : fmt::format("gpuadm explain pod {}; journalctl -u kubelet -n 50 on its node", pod));
  }
}

void system_pods(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  for (const facts::Pod& pod : *pods)
    if ((pod.ns == "kube-system" || pod.ns == "kube-flannel") && !is_well(pod)) system_pod(w, pod, out);
  if (w.facts.deployments)
    for (const facts::Deployment& one : *w.facts.deployments)
      if (one.ns == "kube-system" && one.name == "coredns" && one.available == 0)
        out.fail(Severity::blocker, "the cluster has no running DNS pod",
                 fmt::format("coredns: 0 of {} available", one.replicas),
                 "kubectl -n kube-system describe deploy coredns");
  if (w.facts.daemon_sets)
    for (const facts::DaemonSet& one : *w.facts.daemon_sets)
      if ((one.name == "kube-proxy" || one.ns == "kube-flannel") && one.ready < one.desired)
        out.fail(Severity::warning, one.name + " is missing on nodes",
                 fmt::format("{} of {} ready", one.ready, one.desired),
                 fmt::format("kubectl -n {} get pods -o wide | grep {}", one.ns, one.name));
}

bool is_about_gpus(const facts::Pod& pod) {
  return contains(pod.unscheduled, "nvidia.com/");
}

void pod_reasons(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::map<std::string, std::vector<const facts::Pod*>> by_reason;
  for (const facts::Pod& pod : *pods)
    if (pod.ns != "kube-system" && !is_well(pod))
      by_reason[is_about_gpus(pod) ? "Pending because no GPU is free" : trouble_of(pod)].push_back(&pod);
  for (const auto& [reason, those] : by_reason) {
    const facts::Pod& first = *those.front();
    const auto words = last_words_of(w, first);
    const std::string trouble = trouble_of(first), why = short_why(w, first);
    std::string message =
        fmt::format("{} {} {}", those.size(), those.size() == 1 ? "pod is" : "pods are", reason);
    if (!is_about_gpus(first) && why.size() > trouble.size() + 2)
      message += ": " + why.substr(trouble.size() + 2);
    out.fail(Severity::warning, message, why_of(w, first),
             words && words->known ? words->remedy(remedy_for(first)) : remedy_for(first));
  }
  failing_events(w, *pods, out);
}

void image_pull(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  for (const facts::Pod& pod : *pods)
    if (const auto link = kube::image_problem(pod, w.facts))
      out.fail(Severity::blocker, "an image cannot be pulled: " + link->what,
               pod.full() + ": " + base::join(link->seen, "; "), link->fix);
}

void runtime_handler(const Whole& w, Verdicts& out) {
  const auto* events = given(w.facts.events, out, "the events");
  if (!events) return;
  for (const facts::Event& event : *events)
    if (contains(event.message, "no runtime for") && contains(event.message, "is configured"))
      return out.fail(
          Severity::blocker, "a pod's RuntimeClass is not configured in a node's runtime",
          fmt::format("{}/{}: {}", event.ns, event.name, event.message),
          "nvidia-ctk runtime configure --runtime=containerd && systemctl restart containerd on that node");
}

/// Drivers and their operators mount the host; the baseline and restricted levels forbid it.
void pod_security(const Whole& w, Verdicts& out) {
  const auto* spaces = given(w.facts.namespaces, out, "the namespaces");
  const auto* sets = spaces ? given(w.facts.daemon_sets, out, "the daemon sets") : nullptr;
  if (!sets) return;
  for (const auto& [ns, level] : *spaces) {
    if (level.empty() || level == "privileged") continue;
    const auto set = std::ranges::find_if(
        *sets, [&](const facts::DaemonSet& one) { return one.ns == ns && contains(one.name, "nvidia"); });
    if (set != sets->end())
      out.fail(
          Severity::warning, "Pod Security does not allow NVIDIA's pods",
          fmt::format("namespace {} enforces {}, and has {}", ns, level, set->name),
          fmt::format("kubectl label ns {} --overwrite pod-security.kubernetes.io/enforce=privileged", ns));
  }
}

void resource_quota(const Whole& w, Verdicts& out) {
  const auto* quotas = given(w.facts.quotas, out, "the quotas");
  if (!quotas) return;
  for (const facts::Quota& quota : *quotas)
    for (const auto& [resource, hard] : quota.hard) {
      if (!contains(resource, "nvidia.com/")) continue;
      const auto used = quota.used.find(resource);
      if (amount(quota.hard, resource) > amount(quota.used, resource)) continue;
      out.fail(Severity::warning, "a quota allows no more GPUs in namespace " + quota.ns,
               fmt::format("{}: {} of {} {}", quota.name, used == quota.used.end() ? "0" : used->second, hard,
                           resource),
               fmt::format("kubectl -n {} edit resourcequota {}", quota.ns, quota.name));
    }
}

constexpr std::array cluster_pods_rows = std::to_array<Check>({
    {.id = "cl.system-pods",
     .title = "the system pods run",
     .why = "DNS and the network are among them",
     .reads = "nodes pods deployments daemonsets",
     .stages = in_cluster,
     .whole = system_pods},
    {.id = "cl.pod-reasons",
     .title = "no pod is stuck",
     .why = "a stuck pod has a reason",
     .reads = "nodes pods namespaces daemonsets events",
     .stages = in_cluster,
     .whole = pod_reasons},
    {.id = "cl.image-pull-secrets",
     .title = "every image can be pulled",
     .why = "a pod does not start without its image",
     .reads = "nodes pods events",
     .stages = in_cluster,
     .whole = image_pull},
    {.id = "cl.apparmor-webhook-cri",
     .title = "every RuntimeClass is configured on the nodes",
     .why = "a pod with an unknown RuntimeClass never starts",
     .reads = "nodes events",
     .stages = in_cluster,
     .whole = runtime_handler},
    {.id = "cl.pod-security",
     .title = "Pod Security allows NVIDIA's pods",
     .why = "they mount directories of the host",
     .reads = "nodes pods namespaces daemonsets events",
     .stages = in_cluster,
     .whole = pod_security},
    {.id = "cl.resource-quota",
     .title = "no quota for GPUs is used up",
     .why = "pods over the quota are refused, not queued",
     .reads = "nodes quotas",
     .stages = in_cluster,
     .whole = resource_quota},
});

}  // namespace

std::span<const Check> cluster_pods_checks() {
  return cluster_pods_rows;
}

}  // namespace checks
