#include "gpuadm/base/text.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// Device plugins: NVIDIA's, and the RDMA shared device plugin.
namespace checks {

namespace {

bool is_plugin(const facts::DaemonSet& set) {
  return contains(set.name, "nvidia") && contains(set.name, "device-plugin") &&
         !contains(set.name, "mps-control");
}

void plugin_pods(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  if (nodes.empty()) return;
  const auto* sets = given(w.facts.daemon_sets, out, "the daemon sets");
  if (!sets) return;
  // One, or one for each sharing setting.
  int desired = 0, ready = 0;
  const facts::DaemonSet* worst = nullptr;
  for (const facts::DaemonSet& set : *sets) {
    if (!is_plugin(set)) continue;
    desired += set.desired;
    ready += set.ready;
    if (!worst || set.desired - set.ready > worst->desired - worst->ready) worst = &set;
  }
  if (!worst) {
    if (w.cluster.gpu.allocator != spec::Allocator::device_plugin)
      return out.not_applicable("gpu.allocator is not a device plugin");
    return out.fail(Severity::blocker, "NVIDIA's device plugin is not installed: no pod can get a GPU",
                    "no such daemon set", "gpuadm init --phases gpu/device-plugin");
  }
  const std::string where = worst->ns + "/" + worst->name;
  if (desired == 0)
    return out.fail(Severity::blocker, "the device plugin has no matching node", where + ": 0 desired",
                    "compare its nodeSelector and tolerations with the labels and taints of the GPU nodes");
  if (ready < desired)
    return out.fail(
        Severity::blocker, "the device plugin does not run on every node",
        fmt::format("{}: {} of {} ready", where, worst->ready, worst->desired),
        fmt::format("kubectl -n {} get pods -o wide | grep {}, and read the log", worst->ns, worst->name));
  out.pass(fmt::format("{} of {} ready", ready, desired));
}

struct Line {
  std::string_view contains, message, remedy;
};
/// Messages of k8s-device-plugin (README, issues 478, 1220, 1574; internal/rm/health.go).
constexpr std::array lines = {
    Line{"could not load NVML library",
         "the device plugin does not find the driver: it runs without the nvidia runtime",
         "set runtimeClassName: nvidia in its pods, or make nvidia containerd's default runtime"},
    Line{"Incompatible strategy detected auto",
         "the device plugin does not find the driver: it runs without the nvidia runtime",
         "set runtimeClassName: nvidia in its pods, or make nvidia containerd's default runtime"},
    Line{"Driver/library version mismatch",
         "the device plugin's driver libraries and the kernel module have different versions",
         "reboot the node, or reload the nvidia modules"},
    Line{"XidCriticalError", "the device plugin marked a GPU unhealthy after an Xid",
         "gpuadm doctor --stage node --only gpu. on that node"},
    Line{"arking device as unhealthy", "the device plugin marked a GPU unhealthy",
         "gpuadm doctor --stage node --only gpu. on that node"},
    Line{"Failed to initialize NVML", "the device plugin cannot open the driver",
         "delete the plugin's pod (kubectl delete pod), and run nvidia-smi on the node"},
    Line{"No devices found", "the device plugin finds no GPU", "nvidia-smi -L on the node"},
};

/// The node of a device plugin's pod if it has no GPU as far as is known: NVIDIA's manifest starts the plugin
/// on all nodes, and without a GPU its log names the same trouble.
const facts::Node* node_without_gpu(const Whole& w, const facts::Pod& pod) {
  if (!w.facts.nodes) return nullptr;
  const auto node = std::ranges::find(*w.facts.nodes, pod.node, &facts::Node::name);
  return node == w.facts.nodes->end() || has_gpus(w, *node) ? nullptr : &*node;
}

void judge_log(const std::string& pod, const std::vector<std::string>& log, Verdicts& out) {
  for (const Line& line : lines) {
    const auto place =
        std::ranges::find_if(log, [&](const std::string& text) { return contains(text, line.contains); });
    if (place == log.end()) continue;
    return out.fail(Severity::blocker, std::string(line.message), pod + ": " + *place,
                    std::string(line.remedy));
  }
}

/// The script reads the logs of the first pods only.
void plugin_logs(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::vector<std::string> unread, unexamined;
  int seen = 0;
  for (const facts::Pod& pod : *pods) {
    if (!contains(pod.name, "nvidia-device-plugin")) continue;
    ++seen;
    const auto log = w.facts.plugin_logs.find(pod.name);
    const facts::Node* without = node_without_gpu(w, pod);
    if (without && host_of(w, without->name)) continue;
    if (without)
      unexamined.push_back(without->name);
    else if (log == w.facts.plugin_logs.end())
      unread.push_back(pod.full());
    else
      judge_log(pod.name, log->second, out);
  }
  if (seen == 0) return out.skip("the device plugin has no pod");
  if (!unread.empty()) out.unknown("the log was not read of " + some(unread));
  if (!unexamined.empty()) out.unknown("whether there is a GPU was not examined on " + some(unexamined));
}

void plugin_socket(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  int seen = 0;
  for (const facts::Node* node : nodes) {
    const facts::Facts* host = host_of(w, node->name);
    if (!host || !host->kubernetes.device_plugins) continue;
    ++seen;
    const bool socket = std::ranges::any_of(
        *host->kubernetes.device_plugins, [](const std::string& name) { return name.starts_with("nvidia"); });
    if (socket && gpu_amount(node->capacity) == 0)
      out.fail(Severity::blocker, "the kubelet has lost the device plugin's registration",
               node->name + " has the plugin's socket, but no GPU in its capacity",
               "kubectl -n kube-system delete pod of the device plugin on " + node->name);
  }
  if (!nodes.empty() && seen == 0) out.unknown("no host of a GPU node was examined");
}

bool tolerates(const facts::DaemonSet& set, const facts::Taint& taint) {
  return std::ranges::any_of(set.tolerations, [&](const facts::Toleration& one) {
    return (one.key.empty() || one.key == taint.key) && (one.op == "Exists" || one.value == taint.value) &&
           (one.effect.empty() || one.effect == taint.effect);
  });
}

void taints_tolerations(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  const auto* sets = nodes.empty() ? nullptr : given(w.facts.daemon_sets, out, "the daemon sets");
  if (!sets) return;
  for (const facts::DaemonSet& set : *sets) {
    if (!contains(set.name, "nvidia") && !contains(set.name, "gpu-feature-discovery")) continue;
    for (const facts::Node* node : nodes)
      for (const facts::Taint& taint : node->taints)
        if (taint.effect != "PreferNoSchedule" && !taint.key.starts_with("node.kubernetes.io/") &&
            !tolerates(set, taint))
          out.fail(Severity::warning, set.name + " does not run on a GPU node because of a taint",
                   fmt::format("{} has {}={}:{}", node->name, taint.key, taint.value, taint.effect),
                   fmt::format("add a toleration of {} to {}/{}", taint.key, set.ns, set.name));
  }
}

/// Resources of RDMA cards, which the shared device plugin names rdma/NAME.
long long rdma_amount(const std::map<std::string, std::string>& resources) {
  long long all = 0;
  for (const auto& [name, value] : resources)
    if (name.starts_with("rdma/")) all += base::to_int(value).value_or(0);
  return all;
}

void rdma_plugin(const Whole& w, Verdicts& out) {
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  const auto* pods = nodes ? given(w.facts.pods, out, "the pods") : nullptr;
  if (!pods) return;
  const auto offers = [&](const std::string& resource) {
    return std::ranges::any_of(
        *nodes, [&](const facts::Node& node) { return amount(node.allocatable, resource) > 0; });
  };
  std::map<std::string, std::vector<std::string>>
      wanted;  // resources without a node, and the pods that request them
  bool asked = false;
  for (const facts::Pod& pod : *pods)
    for (const std::string& resource : pod.rdma) {
      asked = true;
      if (pod.phase == "Pending" && !offers(resource)) wanted[resource].push_back(pod.full());
    }
  for (const auto& [resource, names] : wanted)
    out.fail(
        Severity::warning, "pods wait for an RDMA resource that no node offers",
        fmt::format("{}: {}", resource, some(names)),
        "install the RDMA shared device plugin with a resource of that name, or correct the pods' limits");
  std::vector<std::string> without;
  bool offered = false;
  for (const facts::Node& node : *nodes) {
    const facts::Facts* host = host_of(w, node.name);
    offered = offered || rdma_amount(node.allocatable) > 0;
    if (host && !host->rdma.devices.empty() && rdma_amount(node.allocatable) == 0)
      without.push_back(node.name);
  }
  if (offered && !without.empty())
    out.fail(Severity::note, "nodes with RDMA cards do not offer them, unlike other nodes", some(without),
             "check the pods of the RDMA device plugin on them: kubectl get pods -A -o wide | grep rdma");
  if (!asked && !offered && out.silent()) out.skip("no pod asks for rdma/ resources, and no node offers any");
}

constexpr std::array cluster_plugin_rows = std::to_array<Check>({
    {.id = "gk.device-plugin-pods",
     .title = "the device plugin runs on every GPU node",
     .why = "it offers the GPUs to the kubelet",
     .reads = "nodes pods daemonsets device-plugin-log/*",
     .stages = in_cluster,
     .whole = plugin_pods},
    {.id = "gk.device-plugin-logs",
     .title = "the device plugin's log has no errors",
     .why = "the log shows why a GPU is missing",
     .reads = "nodes pods daemonsets device-plugin-log/*",
     .stages = in_cluster,
     .whole = plugin_logs},
    {.id = "gk.device-plugin-socket-registered",
     .title = "the device plugin is registered with the kubelet",
     .why = "a restart of the kubelet can lose the registration",
     .reads = "nodes pods daemonsets device-plugin-log/*",
     .stages = in_cluster,
     .whole = plugin_socket},
    {.id = "gk.taints-tolerations",
     .title = "NVIDIA's pods tolerate the GPU nodes' taints",
     .why = "these pods must run on GPU nodes",
     .reads = "nodes pods daemonsets",
     .stages = in_cluster,
     .whole = taints_tolerations},
    {.id = "rdma.device-plugin",
     .title = "nodes offer the RDMA resources that pods request",
     .why = "they stay Pending otherwise",
     .reads = "rdma pci nodes pods",
     .stages = in_cluster,
     .whole = rdma_plugin},
});

}  // namespace

std::span<const Check> cluster_plugin_checks() {
  return cluster_plugin_rows;
}

}  // namespace checks
