#include "gpuadm/base/text.hpp"

#include "checks/see.hpp"
#include "checks/whole.hpp"

#include <algorithm>
#include <array>

/// How GPUs get from the nodes to the pods.
namespace checks {

namespace {

/// The nodes that have GPUs; says why there is nothing to judge otherwise.
std::vector<const facts::Node*> gpu_nodes(const Whole& w, Verdicts& out) {
  std::vector<const facts::Node*> found;
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return found;
  for (const facts::Node& node : *nodes)
    if (has_gpus(w, node)) found.push_back(&node);
  if (found.empty()) out.skip("no node has a GPU");
  return found;
}

bool is_plugin(const facts::DaemonSet& set) {
  return contains(set.name, "nvidia") && contains(set.name, "device-plugin") && !contains(set.name, "mps");
}

void runtime_class(const Whole& w, Verdicts& out) {
  if (gpu_nodes(w, out).empty()) return;
  const auto* classes = given(w.facts.runtime_classes, out, "the runtime classes");
  if (!classes) return;
  const auto place = classes->find("nvidia");
  if (place != classes->end() && place->second != "nvidia")
    return out.fail(Severity::warning, "RuntimeClass nvidia leads to another runtime",
                    "handler " + place->second,
                    "kubectl delete runtimeclass nvidia, and apply one with handler: nvidia");
  if (place != classes->end()) return out.pass("RuntimeClass nvidia");
  const bool wanted = w.facts.pods && std::ranges::any_of(*w.facts.pods, [](const facts::Pod& pod) {
                        return pod.runtime_class == "nvidia";
                      });
  const bool by_hosts = std::ranges::any_of(w.hosts, [](const auto& host) {
    const auto& containerd = host.second->containerd;
    return containerd && containerd->runtimes.contains("nvidia") && containerd->default_runtime != "nvidia";
  });
  if (!wanted && !by_hosts) return out.skip("nothing asks for it");
  out.fail(Severity::blocker, "there is no RuntimeClass nvidia: pods cannot ask for the nvidia runtime",
           wanted ? "pods name it" : "the nodes' default runtime is another one",
           "gpuadm init --phases gpu/runtime-class, or apply a RuntimeClass nvidia with handler: nvidia");
}

void plugin_pods(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  if (nodes.empty()) return;
  const auto* sets = given(w.facts.daemon_sets, out, "the daemon sets");
  if (!sets) return;
  const auto set = std::ranges::find_if(*sets, is_plugin);
  if (set == sets->end()) {
    if (w.cluster.gpu.allocator != spec::Allocator::device_plugin)
      return out.skip("gpu.allocator is no device plugin");
    return out.fail(Severity::blocker, "NVIDIA's device plugin is not installed: no pod can have a GPU",
                    "no daemon set of that name", "gpuadm init --phases gpu/device-plugin");
  }
  const std::string where = set->space + "/" + set->name;
  if (set->desired == 0)
    return out.fail(Severity::blocker, "the device plugin finds no node to run on", where + ": 0 desired",
                    "compare its nodeSelector and tolerations with the labels and taints of the GPU nodes");
  if (set->ready < set->desired)
    return out.fail(
        Severity::blocker, "the device plugin does not run on every node",
        fmt::format("{}: {} of {} ready", where, set->ready, set->desired),
        fmt::format("kubectl -n {} get pods -o wide | grep {}, and read the log", set->space, set->name));
  out.pass(fmt::format("{} of {} ready", set->ready, set->desired));
}

struct Line {
  std::string_view contains, says, remedy;
};
/// What k8s-device-plugin writes (README, issues 478, 1220, 1574; internal/rm/health.go).
constexpr std::array lines = {
    Line{"could not load NVML library",
         "the device plugin does not see the driver: it runs without the nvidia runtime",
         "give its pods runtimeClassName: nvidia, or make nvidia containerd's default runtime"},
    Line{"Incompatible strategy detected auto",
         "the device plugin does not see the driver: it runs without the nvidia runtime",
         "give its pods runtimeClassName: nvidia, or make nvidia containerd's default runtime"},
    Line{"Driver/library version mismatch",
         "the device plugin's driver libraries and the kernel module differ",
         "reboot the node, or reload the nvidia modules"},
    Line{"XidCriticalError", "the device plugin took a GPU out after an Xid",
         "gpuadm doctor --stage node --only gpu. on that node"},
    Line{"arking device as unhealthy", "the device plugin took a GPU out",
         "gpuadm doctor --stage node --only gpu. on that node"},
    Line{"Failed to initialize NVML", "the device plugin cannot open the driver",
         "kubectl delete the plugin's pod; nvidia-smi on the node"},
    Line{"No devices found", "the device plugin finds no GPU", "nvidia-smi -L on the node"},
};

void plugin_logs(const Whole& w, Verdicts& out) {
  if (w.facts.plugin_logs.empty()) return out.skip("there is no pod of the device plugin");
  for (const auto& [pod, log] : w.facts.plugin_logs)
    for (const Line& line : lines) {
      const auto place =
          std::ranges::find_if(log, [&](const std::string& text) { return contains(text, line.contains); });
      if (place == log.end()) continue;
      out.fail(Severity::blocker, std::string(line.says), pod + ": " + *place, std::string(line.remedy));
      break;
    }
}

bool has_mig(const facts::Facts& host) {
  return std::ranges::any_of(host.gpus,
                             [](const facts::Gpu& gpu) { return gpu.mig.value_or("") == "Enabled"; });
}

/// What a node should offer by its host: GPUs times the shares of each.
std::optional<long long> expected_of(const Whole& w, const facts::Node& node) {
  const facts::Facts* host = host_of(w, node.name);
  if (!host || host->gpus.empty() || has_mig(*host)) return std::nullopt;
  const auto replicas = base::to_int(label(node, "nvidia.com/gpu.replicas")).value_or(1);
  return static_cast<long long>(host->gpus.size()) * std::max(1LL, replicas);
}

void allocatable_vs_physical(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  int compared = 0;
  for (const facts::Node* node : nodes) {
    const auto expected = expected_of(w, *node);
    if (!expected) continue;
    ++compared;
    const long long offered = gpu_amount(node->allocatable);
    if (offered != *expected && w.cluster.gpu.allocator == spec::Allocator::device_plugin)
      out.fail(Severity::blocker,
               offered < *expected ? "a node offers fewer GPUs than it has"
                                   : "a node offers more GPUs than it has",
               fmt::format("{}: {} allocatable, {} by nvidia-smi", node->name, offered, *expected),
               "kubectl -n kube-system delete pod of the device plugin on " + node->name +
                   "; its log names sick GPUs");
  }
  if (!nodes.empty() && compared == 0) out.unknown("no host of a GPU node was looked at, or MIG is on");
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
               node->name + " has the plugin's socket, and no GPU in its capacity",
               "kubectl -n kube-system delete pod of the device plugin on " + node->name);
  }
  if (!nodes.empty() && seen == 0) out.unknown("no host of a GPU node was looked at");
}

void capacity_vs_allocatable(const Whole& w, Verdicts& out) {
  for (const facts::Node* node : gpu_nodes(w, out)) {
    const long long capacity = gpu_amount(node->capacity), left = gpu_amount(node->allocatable);
    if (left < capacity)
      out.fail(Severity::warning, "some GPUs of a node are unhealthy",
               fmt::format("{}: {} of {} allocatable", node->name, left, capacity),
               "gpuadm doctor --stage node --only gpu. on " + node->name);
  }
}

void overcommit(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  const auto* pods = nodes.empty() ? nullptr : given(w.facts.pods, out, "the pods");
  if (!pods) return;
  for (const facts::Node* node : nodes) {
    std::map<std::string, long long> asked;
    for (const facts::Pod& pod : *pods)
      if (pod.node == node->name && pod.phase == "Running")
        for (const auto& [resource, count] : pod.gpus) asked[resource] += count;
    for (const auto& [resource, count] : asked)
      if (count > amount(node->allocatable, resource))
        out.fail(Severity::warning, "pods hold more GPUs than the node has left",
                 fmt::format("{}: {} {} in use, {} allocatable", node->name, count, resource,
                             amount(node->allocatable, resource)),
                 "a GPU has dropped out under a running pod: gpuadm doctor --stage node --only gpu. on " +
                     node->name);
  }
}

void no_runtime_class(const Whole& w, Verdicts& out) {
  if (gpu_nodes(w, out).empty()) return;
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::vector<std::string> found;
  int judged = 0;
  for (const facts::Pod& pod : *pods) {
    const facts::Facts* host = pod.gpus.empty() ? nullptr : host_of(w, pod.node);
    if (!host || !host->containerd) continue;
    ++judged;
    const bool given_anyway =
        host->containerd->default_runtime == "nvidia" || host->containerd->enable_cdi.value_or(false);
    if (pod.runtime_class.empty() && !given_anyway) found.push_back(pod.full());
  }
  if (!found.empty())
    out.fail(Severity::warning, "pods with GPUs run without the nvidia runtime, and see no driver",
             some(found),
             "set runtimeClassName: nvidia in the pods, or make nvidia containerd's default runtime");
  else if (judged == 0)
    out.skip("no pod with a GPU on a host that was looked at");
}

/// Pods of daemon sets with this variable are the ones that manage GPUs.
void env_bypass(const Whole& w, Verdicts& out) {
  const auto* pods = given(w.facts.pods, out, "the pods");
  if (!pods) return;
  std::vector<std::string> found;
  for (const facts::Pod& pod : *pods)
    if (pod.gpus.empty() && pod.owner != "DaemonSet" && !pod.visible_devices.empty() &&
        pod.visible_devices != "void" && pod.visible_devices != "none")
      found.push_back(fmt::format("{} ({})", pod.full(), pod.visible_devices));
  if (!found.empty())
    out.fail(Severity::warning, "pods take GPUs without asking for them", some(found),
             "take NVIDIA_VISIBLE_DEVICES out of the pods, ask for nvidia.com/gpu, and set "
             "accept-nvidia-visible-devices-envvar-when-unprivileged = false");
}

void mig_strategy(const Whole& w, Verdicts& out) {
  int seen = 0;
  const auto nodes = gpu_nodes(w, out);
  for (const facts::Node* node : nodes) {
    const facts::Facts* host = host_of(w, node->name);
    if (!host || !has_mig(*host)) continue;
    ++seen;
    const std::string strategy = label(*node, "nvidia.com/mig.strategy");
    if (gpu_amount(node->allocatable) == 0)
      out.fail(Severity::blocker, "a node with MIG offers no GPU",
               fmt::format("{}: MIG is enabled, the plugin's strategy is {}", node->name,
                           strategy.empty() ? "not set" : strategy),
               "start the device plugin with MIG_STRATEGY=single or mixed, or switch MIG off");
  }
  if (!nodes.empty() && seen == 0) out.skip("no host with MIG was looked at");
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
          out.fail(Severity::warning, set.name + " does not run on a GPU node for its taint",
                   fmt::format("{} has {}={}:{}", node->name, taint.key, taint.value, taint.effect),
                   fmt::format("add a toleration of {} to {}/{}", taint.key, set.space, set.name));
  }
}

void dra_driver(const Whole& w, Verdicts& out) {
  const auto& slices = w.facts.slices;
  if (!slices || slices->empty()) return out.skip("no DRA driver offers devices");
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::ResourceSlice& slice : *slices)
    for (const facts::Node& node : *nodes)
      if (slice.driver == "gpu.nvidia.com" && slice.node == node.name && gpu_amount(node.allocatable) > 0)
        out.fail(Severity::warning, "DRA driver and device plugin both hand out the GPUs of a node",
                 fmt::format("{}: {} allocatable, and a ResourceSlice of {}", node.name,
                             gpu_amount(node.allocatable), slice.driver),
                 "remove one of the two from " + node.name);
}

void capacity_uniform(const Whole& w, Verdicts& out) {
  const auto nodes = gpu_nodes(w, out);
  std::map<std::string, std::map<long long, std::vector<std::string>>> products;
  for (const facts::Node* node : nodes)
    if (const std::string product = label(*node, "nvidia.com/gpu.product"); !product.empty())
      products[product][gpu_amount(node->capacity)].push_back(node->name);
  if (!nodes.empty() && products.empty()) return out.skip("no node is labelled with its product");
  for (const auto& [product, counts] : products)
    if (counts.size() > 1)
      out.fail(
          Severity::warning, "nodes of one kind have different numbers of GPUs",
          fmt::format("{}: {} on {}, {} on {}", product, counts.begin()->first, some(counts.begin()->second),
                      counts.rbegin()->first, some(counts.rbegin()->second)),
          "gpuadm doctor --stage node --only gpu. on the node with fewer: a GPU may be lost");
}

constexpr std::array rows = std::to_array<Check>({
    {.id = "gk.runtimeclass",
     .title = "pods can ask for the nvidia runtime",
     .why = "RuntimeClass nvidia names it",
     .stages = in_cluster,
     .whole = runtime_class},
    {.id = "gk.device-plugin-pods",
     .title = "the device plugin runs on every GPU node",
     .why = "it offers the GPUs",
     .stages = in_cluster,
     .whole = plugin_pods},
    {.id = "gk.device-plugin-logs",
     .title = "the device plugin complains of nothing",
     .why = "it says why a GPU is missing",
     .stages = in_cluster,
     .whole = plugin_logs},
    {.id = "gk.device-plugin-socket-registered",
     .title = "the kubelet knows the device plugin",
     .why = "a restart of the kubelet may lose it",
     .stages = in_cluster,
     .whole = plugin_socket},
    {.id = "gk.allocatable-vs-physical",
     .title = "nodes offer the GPUs that they have",
     .why = "the rest lies idle",
     .stages = in_cluster,
     .whole = allocatable_vs_physical},
    {.id = "gk.capacity-vs-allocatable",
     .title = "every GPU of every node is healthy",
     .why = "unhealthy ones are not handed out",
     .stages = in_cluster,
     .whole = capacity_vs_allocatable},
    {.id = "gk.allocated-overcommit",
     .title = "no pod holds a GPU that is gone",
     .why = "its work hangs or fails",
     .stages = in_cluster,
     .whole = overcommit},
    {.id = "gk.pods-with-gpu-but-no-runtimeclass",
     .title = "pods with GPUs use the nvidia runtime",
     .why = "they find no driver otherwise",
     .stages = in_cluster,
     .whole = no_runtime_class},
    {.id = "gk.env-bypass",
     .title = "no pod takes GPUs without asking",
     .why = "two pods would share one unknowingly",
     .stages = in_cluster,
     .whole = env_bypass},
    {.id = "gk.mig-strategy",
     .title = "nodes with MIG offer their devices",
     .why = "the strategy must fit",
     .stages = in_cluster,
     .whole = mig_strategy},
    {.id = "gk.taints-tolerations",
     .title = "NVIDIA's pods tolerate the GPU nodes' taints",
     .why = "they must run where the GPUs are",
     .stages = in_cluster,
     .whole = taints_tolerations},
    {.id = "gk.dra-driver",
     .title = "GPUs are handed out one way only",
     .why = "one GPU would go to two pods",
     .stages = in_cluster,
     .whole = dra_driver},
    {.id = "gk.gpu-capacity-uniform",
     .title = "nodes of one kind have as many GPUs",
     .why = "an odd one has lost some",
     .stages = in_cluster,
     .whole = capacity_uniform},
});

}  // namespace

std::span<const Check> cluster_gpu_checks() {
  return rows;
}

}  // namespace checks
