#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// NVIDIA's GPU Operator and its components.
namespace checks {

namespace {

/// Pods with such a name, or nothing with the reason.
std::vector<const facts::Pod*> pods_like(const Whole& w, Verdicts& out, std::string_view part,
                                         const char* missing) {
  std::vector<const facts::Pod*> found;
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return found;
  for (const facts::Pod& pod : *pods)
    if (contains(pod.name, part)) found.push_back(&pod);
  if (found.empty()) out.skip(missing);
  return found;
}

void cluster_policy(const Whole& w, Verdicts& out) {
  const auto& policies = w.facts.policies;
  if (!policies || policies->empty()) return out.skip("the GPU operator is not installed");
  for (const auto& [name, state] : *policies)
    if (state != "ready")
      out.fail(Severity::blocker, "the GPU operator has not finished",
               fmt::format("ClusterPolicy {} is {}", name, state.empty() ? "without a state" : state),
               "kubectl describe clusterpolicy " + name + "; kubectl -n gpu-operator get pods");
}

/// The order in which the operator's components depend on each other.
constexpr std::array<std::string_view, 7> parts = {
    "nvidia-driver",        "nvidia-container-toolkit", "nvidia-operator-validator",
    "nvidia-device-plugin", "gpu-feature-discovery",    "nvidia-dcgm",
    "nvidia-mig-manager"};

void operator_pods(const Whole& w, Verdicts& out) {
  if (!w.facts.policies || w.facts.policies->empty()) return out.skip("the GPU operator is not installed");
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  // The first failing component on a node blocks the others there.
  std::map<std::string, const facts::Pod*> first;
  for (const std::string_view part : parts)
    for (const facts::Pod& pod : *pods)
      if (pod.name.starts_with(part) && !is_well(pod)) first.try_emplace(pod.node, &pod);
  for (const auto& [node, pod] : first)
    out.fail(Severity::blocker, "a part of the GPU operator does not run",
             fmt::format("{} on {}: {} {}", pod->full(), node.empty() ? "no node" : node, trouble_of(*pod),
                         pod->waits_for),
             fmt::format("kubectl -n {} logs {} --all-containers", pod->ns, pod->name));
}

void driver_host_vs_pod(const Whole& w, Verdicts& out) {
  const auto pods = pods_like(w, out, "nvidia-driver-daemonset", "the GPU operator installs no driver");
  int seen = 0;
  for (const facts::Pod* pod : pods) {
    const facts::Facts* host = host_of(w, pod->node);
    if (!host) continue;
    ++seen;
    const auto package = std::ranges::find_if(host->software.packages, [](const auto& one) {
      return one.second.installed &&
             (one.first.starts_with("nvidia-driver") || one.first.starts_with("nvidia-dkms") ||
              one.first.starts_with("nvidia-kernel-"));
    });
    if (package != host->software.packages.end())
      out.fail(Severity::blocker, "a node has both the operator's driver and a host driver",
               fmt::format("{}: pod {}, package {} {}", pod->node, pod->full(), package->first,
                           package->second.version),
               "helm upgrade the operator with driver.enabled=false, or remove the host's driver");
  }
  if (!pods.empty() && seen == 0) out.unknown("no host of a GPU node was examined");
}

void state_label(const Whole& w, Verdicts& out, const char* name,
                 std::initializer_list<std::string_view> good, const char* message, const char* remedy) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  int seen = 0;
  for (const facts::Node& node : *nodes) {
    const std::string state = label(node, name);
    if (state.empty()) continue;
    ++seen;
    if (std::ranges::find(good, state) == good.end())
      out.fail(Severity::warning, message, fmt::format("{}: {}={}", node.name, name, state), remedy);
  }
  if (seen == 0) out.skip(fmt::format("no node has the label {}", name));
}

void mig_manager(const Whole& w, Verdicts& out) {
  state_label(
      w, out, "nvidia.com/mig.config.state", {"success"}, "a node's MIG layout has not been applied",
      "kubectl -n gpu-operator logs -l app=nvidia-mig-manager; delete the pods that hold the GPU first");
}

void driver_upgrade(const Whole& w, Verdicts& out) {
  state_label(
      w, out, "nvidia.com/gpu-driver-upgrade-state", {"upgrade-done", "upgrade-not-required"},
      "a driver upgrade has not finished",
      "kubectl -n gpu-operator logs deploy/gpu-operator; drain the blocking pods, then set the label to "
      "upgrade-required");
}

void gfd_labels(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  const bool ours = std::ranges::any_of(
      *nodes, [](const facts::Node& node) { return !label(node, "gpuadm.io/device-plugin").empty(); });
  if (!ours && pods_like(w, out, "gpu-feature-discovery", "GPU feature discovery is not installed").empty())
    return;
  const std::string again =
      ours ? "gpuadm init --phases gpu/labels" : "restart the gpu-feature-discovery pod on ";
  for (const facts::Node& node : *nodes) {
    if (!has_gpus(w, node)) continue;
    const std::string count = label(node, "nvidia.com/gpu.count");
    const facts::Facts* host = host_of(w, node.name);
    // With the MIG strategy "single", it counts MIG devices.
    const bool counts_gpus = host && !host->nvidia.gpus.empty() && !has_mig(host->nvidia);
    if (count.empty())
      out.fail(Severity::warning, "a GPU node is not labelled", node.name + " has no nvidia.com/gpu.count",
               ours ? again : again + node.name);
    else if (counts_gpus && base::to_int(count) != static_cast<long long>(host->nvidia.gpus.size()))
      out.fail(Severity::warning, "a node's labels do not match its GPUs",
               fmt::format("{}: nvidia.com/gpu.count={}, {} by nvidia-smi", node.name, count,
                           host->nvidia.gpus.size()),
               ours ? again : again + node.name);
  }
}

void nfd(const Whole& w, Verdicts& out) {
  const auto masters =
      pods_like(w, out, "node-feature-discovery-master", "node feature discovery is not installed");
  const auto* nodes = masters.empty() ? nullptr : given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::Pod* pod : masters)
    if (pod->ns != masters.front()->ns)
      return out.fail(Severity::warning,
                      "node feature discovery is installed twice, and each removes the other's labels",
                      fmt::format("namespaces {} and {}", masters.front()->ns, pod->ns),
                      "helm upgrade the operator with nfd.enabled=false");
  for (const facts::Node& node : *nodes) {
    const facts::Facts* host = host_of(w, node.name);
    if (host && !host->nvidia.pci_gpus.empty() &&
        label(node, "feature.node.kubernetes.io/pci-10de.present") != "true")
      out.fail(Severity::warning, "node feature discovery has not detected a node's GPUs",
               node.name + " has no feature.node.kubernetes.io/pci-10de.present",
               "kubectl logs of its nfd-worker on " + node.name);
  }
}

void out_of_memory(const Whole& w, Verdicts& out, std::string_view part, const char* missing) {
  for (const facts::Pod* pod : pods_like(w, out, part, missing))
    if (has(pod->ended, "OOMKilled"))
      out.fail(Severity::warning, "a pod has exceeded its memory limit",
               fmt::format("{}: OOMKilled, {} restarts", pod->full(), pod->restarts),
               "raise its memory limit");
}

void exporter_memory(const Whole& w, Verdicts& out) {
  out_of_memory(w, out, "dcgm-exporter", "dcgm-exporter is not installed");
}

void operator_memory(const Whole& w, Verdicts& out) {
  if (!w.facts.policies || w.facts.policies->empty()) return out.skip("the GPU operator is not installed");
  out_of_memory(w, out, "gpu-operator-", "the operator's pod does not exist");
}

void exporter(const Whole& w, Verdicts& out) {
  const auto* sets = given(w.facts.daemon_sets, out, "the daemon sets");
  if (!sets) return;
  const auto set = std::ranges::find_if(
      *sets, [](const facts::DaemonSet& one) { return contains(one.name, "dcgm-exporter"); });
  if (set == sets->end()) return out.skip("dcgm-exporter is not installed");
  if (set->ready < set->desired)
    out.fail(Severity::warning, "GPU metrics are missing from some nodes",
             fmt::format("{}/{}: {} of {} ready", set->ns, set->name, set->ready, set->desired),
             fmt::format("kubectl -n {} logs ds/{}", set->ns, set->name));
}

void cordoned(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::Node& node : *nodes) {
    if (!has_gpus(w, node)) continue;
    for (const facts::Taint& taint : node.taints)
      if (contains(taint.key, "nvsentinel") || contains(taint.key, "unhealthy") ||
          contains(taint.key, "remediation"))
        out.fail(Severity::warning, "a GPU node is tainted by a health monitor",
                 fmt::format("{} has {}={}", node.name, taint.key, taint.value),
                 "fix the reported problem, then remove the taint: kubectl taint nodes " + node.name + " " +
                     taint.key + "-");
    if (node.unschedulable)
      out.fail(Severity::warning, "a GPU node is cordoned", fmt::format("{} is unschedulable", node.name),
               "kubectl describe node " + node.name + "; then: kubectl uncordon " + node.name);
  }
}

void event_history(const Whole& w, Verdicts& out) {
  const auto* events = given(w.facts.events, out, "the events");
  if (!events) return;
  int unexpected = 0, short_of = 0;
  const facts::Event *one = nullptr, *other = nullptr;
  for (const facts::Event& event : *events) {
    if (event.reason == "UnexpectedAdmissionError" && contains(event.message, "nvidia.com/")) {
      unexpected += event.count;
      one = &event;
    }
    if (event.reason == "FailedScheduling" && contains(event.message, "nvidia.com/")) {
      short_of += event.count;
      other = &event;
    }
  }
  if (one)
    out.fail(Severity::warning, "pods were refused a GPU after a restart of kubelet or plugin",
             fmt::format("{} times, last {}/{}: {}", unexpected, one->ns, one->name, one->message),
             "delete the failed pods, so that they are created again");
  if (other)
    out.fail(Severity::note, "pods wait for a GPU",
             fmt::format("{} times, last {}/{}: {}", short_of, other->ns, other->name, other->message),
             "find the pods that hold GPUs: kubectl describe nodes | grep -A8 'Allocated resources'");
}

constexpr std::array cluster_operator_rows = std::to_array<Check>({
    {.id = "gk.operator-clusterpolicy",
     .title = "the GPU operator has finished",
     .why = "it sets up the GPU nodes",
     .reads = "nodes pods clusterpolicies events deployments",
     .stages = in_cluster,
     .whole = cluster_policy},
    {.id = "gk.operator-pods",
     .title = "every part of the GPU operator runs",
     .why = "each part waits for the previous one",
     .reads = "nodes pods clusterpolicies events deployments",
     .stages = in_cluster,
     .whole = operator_pods},
    {.id = "gk.driver-host-vs-pod",
     .title = "each node has one driver",
     .why = "two drivers unload each other",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = driver_host_vs_pod},
    {.id = "gk.driver-upgrade-state",
     .title = "no driver upgrade is stuck",
     .why = "its node stays cordoned",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = driver_upgrade},
    {.id = "gk.mig-manager-state",
     .title = "MIG layouts are applied",
     .why = "pods wait for devices that do not exist",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = mig_manager},
    {.id = "gk.gfd-labels",
     .title = "labels of GPU nodes match their GPUs",
     .why = "pods select nodes by these labels",
     .reads = "nodes pods daemonsets",
     .stages = in_cluster,
     .whole = gfd_labels},
    {.id = "gk.nfd",
     .title = "node feature discovery detects the GPUs",
     .why = "the operator depends on its labels",
     .reads = "nodes pods daemonsets deployments",
     .stages = in_cluster,
     .whole = nfd},
    {.id = "gk.dcgm-exporter",
     .title = "every GPU node has metrics",
     .why = "faults are not noticed otherwise",
     .reads = "nodes pods daemonsets events",
     .stages = in_cluster,
     .whole = exporter},
    {.id = "gk.dcgm-exporter-memory",
     .title = "dcgm-exporter has enough memory",
     .why = "otherwise it restarts, and metrics have gaps",
     .reads = "nodes pods daemonsets events",
     .stages = in_cluster,
     .whole = exporter_memory},
    {.id = "gk.operator-oom",
     .title = "the GPU operator has enough memory",
     .why = "large clusters need more",
     .reads = "nodes pods clusterpolicies events deployments",
     .stages = in_cluster,
     .whole = operator_memory},
    {.id = "gk.node-cordoned-by-remediation",
     .title = "every GPU node accepts pods",
     .why = "otherwise its GPUs are idle",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = cordoned},
    {.id = "gk.failed-event-history",
     .title = "no pod was refused a GPU",
     .why = "a refused pod is not retried",
     .reads = "nodes pods events",
     .stages = in_cluster,
     .whole = event_history},
});

}  // namespace

std::span<const Check> cluster_operator_checks() {
  return cluster_operator_rows;
}

}  // namespace checks
