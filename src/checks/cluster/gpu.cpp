#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// The GPUs that nodes advertise.
namespace checks {

namespace {

/// The expected number for a node by its host: GPUs that are not in quarantine, times shares.
std::optional<long long> expected_of(const Whole& w, const facts::Node& node) {
  const facts::Facts* host = host_of(w, node.name);
  if (!host || host->nvidia.gpus.empty() || has_mig(host->nvidia)) return std::nullopt;
  const auto replicas = base::to_int(label(node, "nvidia.com/gpu.replicas")).value_or(1);
  return static_cast<long long>(facts::usable_gpus(host->nvidia).size()) * std::max(1LL, replicas);
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
                   "; its log shows unhealthy GPUs");
  }
  if (!nodes.empty() && compared == 0) out.unknown("no host of a GPU node was examined, or MIG is on");
}

/// The cluster file's default, one pod for each GPU, is not compared: `gpuadm gpu share` changes a node.
void sharing(const Whole& w, Verdicts& out) {
  int shared = 0;
  for (const facts::Node* node : gpu_nodes(w, out)) {
    const auto place = std::ranges::find_if(w.cluster.hosts, [&](const spec::Host& host) {
      return host_of(w, host.name) == host_of(w, node->name);
    });
    const facts::Facts* host = host_of(w, node->name);
    if (!host || place == w.cluster.hosts.end()) continue;
    const spec::GpuProfile wanted =
        spec::layout_of(w.cluster, *place, facts::models_of(host->nvidia)).sharing;
    if (wanted.replicas < 2) continue;
    ++shared;
    const auto offered = std::max(1LL, base::to_int(label(*node, "nvidia.com/gpu.replicas")).value_or(1));
    if (offered != wanted.replicas)
      out.fail(Severity::warning, "a node does not share its GPUs as the cluster file says",
               fmt::format("{}: {} for each GPU; the cluster file has {}", node->name,
                           offered == 1 ? "1 pod" : fmt::format("{} pods", offered), wanted.replicas),
               fmt::format("gpuadm apply -f FILE, or: gpuadm gpu share {} {}", node->name, wanted.replicas));
  }
  if (shared == 0) out.not_applicable("no GPUs are shared by the cluster file");
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

void mig_strategy(const Whole& w, Verdicts& out) {
  int seen = 0;
  const auto nodes = gpu_nodes(w, out);
  for (const facts::Node* node : nodes) {
    const facts::Facts* host = host_of(w, node->name);
    if (!host || !has_mig(host->nvidia) || allocates_by_claims(w.facts, *node)) continue;
    ++seen;
    const std::string strategy = label(*node, "nvidia.com/mig.strategy");
    if (gpu_amount(node->allocatable) == 0)
      out.fail(Severity::blocker, "a node with MIG offers no GPU",
               fmt::format("{}: MIG is enabled, the plugin's strategy is {}", node->name,
                           strategy.empty() ? "not set" : strategy),
               "start the device plugin with MIG_STRATEGY=single or mixed, or disable MIG");
  }
  if (!nodes.empty() && seen == 0) out.skip("no host with MIG was examined");
}

void dra_driver(const Whole& w, Verdicts& out) {
  const auto& slices = w.facts.slices;
  if (!slices || slices->empty()) return out.skip("no DRA driver offers devices");
  const auto* nodes = given(w.facts.nodes, out, "the nodes");
  if (!nodes) return;
  for (const facts::ResourceSlice& slice : *slices)
    for (const facts::Node& node : *nodes)
      if (slice.driver == "gpu.nvidia.com" && slice.node == node.name && gpu_amount(node.allocatable) > 0)
        out.fail(Severity::warning, "the DRA driver and the device plugin both allocate the GPUs of a node",
                 fmt::format("{}: {} allocatable, and a ResourceSlice of {}", node.name,
                             gpu_amount(node.allocatable), slice.driver),
                 "remove one of the two from " + node.name);
}

/// The unhealthy DRA driver pod of a node; empty if it is healthy or missing.
std::string dra_pod_trouble(const Whole& w, const facts::Node& node) {
  if (w.facts.pods)
    for (const facts::Pod& pod : *w.facts.pods)
      if (pod.node == node.name && is_dra_driver_pod(pod) && !is_well(pod))
        return fmt::format("; {} is {}", pod.full(), trouble_of(pod));
  return {};
}

void dra_devices(const Whole& w, Verdicts& out) {
  if (w.cluster.gpu.allocator != spec::Allocator::dra) return out.not_applicable("gpu.allocator is not dra");
  const auto nodes = gpu_nodes(w, out);
  if (nodes.empty()) return;
  if (w.facts.dra_versions && w.facts.dra_versions->empty())
    return out.fail(Severity::blocker, "the API server does not serve resource.k8s.io: no pod gets a GPU",
                    "Kubernetes " + w.facts.version,
                    "use Kubernetes 1.34.2 or newer, or gpu: { allocator: devicePlugin }");
  if (!given(w.facts.slices, out, "the resource slices")) return;
  if (w.facts.device_classes &&
      std::ranges::find(*w.facts.device_classes, "gpu.nvidia.com") == w.facts.device_classes->end())
    out.fail(Severity::blocker, "the device class gpu.nvidia.com does not exist: claims of GPUs wait",
             fmt::format("device classes: {}", some(*w.facts.device_classes)),
             "gpuadm init --phases gpu/dra");
  for (const facts::Node* node : nodes) {
    const auto devices = gpu_devices(w.facts, node->name);
    const facts::Facts* host = host_of(w, node->name);
    const bool mig = host && has_mig(host->nvidia);
    if (!devices.empty() && (!host || mig || devices.size() >= host->nvidia.gpus.size())) continue;
    out.fail(
        Severity::blocker,
        devices.empty() ? "the DRA driver publishes no GPU of a node"
                        : "the DRA driver publishes fewer GPUs than a node has",
        fmt::format("{}: {} devices of gpu.nvidia.com in ResourceSlices{}{}", node->name, devices.size(),
                    host ? fmt::format(", {} GPUs by nvidia-smi", host->nvidia.gpus.size()) : "",
                    dra_pod_trouble(w, *node)),
        "kubectl -n kube-system logs -l app.kubernetes.io/name=nvidia-dra-driver --all-containers --prefix");
  }
}

/// With the DRA driver, a DeviceTaintRule keeps new pods from a GPU in quarantine.
void dra_quarantine(const Whole& w, Verdicts& out) {
  const std::string broken = version_broken_by_taint_rules(w.facts);
  if (!broken.empty() && w.facts.taint_rules && !w.facts.taint_rules->empty()) {
    std::vector<std::string> names;
    for (const facts::TaintRule& rule : *w.facts.taint_rules) names.push_back(rule.name);
    return out.fail(
        Severity::blocker, "kube-scheduler ignores the DeviceTaintRules, and cannot start while one exists",
        fmt::format("Kubernetes {}: {}", broken, some(names)),
        "gpuadm upgrade --kubernetes-version 1.36.3; until then: kubectl delete devicetaintrules --all");
  }
  if (w.cluster.gpu.allocator != spec::Allocator::dra)
    return out.skip("GPUs are not allocated by NVIDIA's DRA driver");
  bool any = false;
  for (const facts::Node* node : gpu_nodes(w, out)) {
    const facts::Facts* host = host_of(w, node->name);
    if (!host) continue;
    const auto devices = gpu_devices(w.facts, node->name);
    for (const facts::QuarantinedGpu& entry : host->nvidia.quarantine) {
      any = true;
      const auto device = std::ranges::find_if(
          devices, [&](const facts::GpuDevice& one) { return one.device.uuid == entry.uuid; });
      if (device != devices.end() && device->taint.empty())
        out.fail(
            Severity::warning, "pods may get a GPU that is in quarantine",
            fmt::format("{}: no DeviceTaintRule taints {} ({})", node->name, device->device.name, entry.uuid),
            fmt::format("gpuadm gpu quarantine {} {}", node->name, entry.uuid));
    }
    for (const facts::GpuDevice& device : devices) {
      if (device.taint != facts::taint_rule_of(device.device.uuid)) continue;
      any = true;
      if (std::ranges::find(host->nvidia.quarantine, device.device.uuid, &facts::QuarantinedGpu::uuid) ==
          host->nvidia.quarantine.end())
        out.fail(
            Severity::note, "pods do not get a GPU that is not in quarantine",
            fmt::format("{}: the DeviceTaintRule {} taints {}", node->name, device.taint, device.device.name),
            "kubectl delete devicetaintrule " + device.taint);
    }
  }
  if (!any && out.silent()) out.skip("no GPU is in quarantine");
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

constexpr std::array cluster_gpu_rows = std::to_array<Check>({
    {.id = "gk.allocatable-vs-physical",
     .title = "nodes offer the GPUs that they have",
     .why = "GPUs that are not offered are idle",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = allocatable_vs_physical},
    {.id = "gk.sharing",
     .title = "nodes share their GPUs as the cluster file says",
     .why = "pods that request a share wait otherwise",
     .reads = "nodes",
     .stages = in_cluster,
     .whole = sharing},
    {.id = "gk.capacity-vs-allocatable",
     .title = "every GPU of every node is healthy",
     .why = "unhealthy GPUs are not allocated",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = capacity_vs_allocatable},
    {.id = "gk.mig-strategy",
     .title = "nodes with MIG offer their devices",
     .why = "the plugin's strategy must match",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = mig_strategy},
    {.id = "gk.dra-driver",
     .title = "GPUs are allocated in only one way",
     .why = "otherwise one GPU is allocated to two pods",
     .reads = "nodes pods resource-api resourceslices resourceclaims deviceclasses daemonsets",
     .stages = in_cluster,
     .whole = dra_driver},
    {.id = "gk.dra-devices",
     .title = "the DRA driver publishes the GPUs of every node",
     .why = "claims can be allocated only from ResourceSlices",
     .reads = "nodes pods resource-api resourceslices resourceclaims deviceclasses daemonsets",
     .stages = in_cluster,
     .whole = dra_devices},
    {.id = "gk.dra-quarantine",
     .title = "pods do not get GPUs in quarantine",
     .why = "with the DRA driver, DeviceTaintRules keep pods from them",
     .reads = "version nodes resource-api resourceslices devicetaintrules",
     .stages = in_cluster,
     .whole = dra_quarantine},
    {.id = "gk.gpu-capacity-uniform",
     .title = "nodes of one kind have the same number of GPUs",
     .why = "a node with fewer may have lost GPUs",
     .reads = "nodes pods",
     .stages = in_cluster,
     .whole = capacity_uniform},
});

}  // namespace

bool is_broken_by_taint_rules(const base::Version& version) {
  return version.major == 1 && version.minor == 36 && version.patch < 3;
}

std::string version_broken_by_taint_rules(const facts::ClusterFacts& facts) {
  std::vector<std::string> versions = {facts.version};
  if (facts.nodes)
    for (const facts::Node& node : *facts.nodes)
      if (facts::is_control_plane(node)) versions.push_back(node.kubelet);
  for (const std::string& text : versions)
    if (const auto version = base::Version::parse(text); version && is_broken_by_taint_rules(*version))
      return text;
  return "";
}

std::span<const Check> cluster_gpu_checks() {
  return cluster_gpu_rows;
}

}  // namespace checks
