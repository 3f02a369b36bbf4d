#include "gpuadm/base/text.hpp"

#include "checks/see.hpp"
#include "checks/whole.hpp"

#include <algorithm>
#include <array>

/// The GPUs that nodes offer.
namespace checks {

namespace {

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
    {.id = "gk.mig-strategy",
     .title = "nodes with MIG offer their devices",
     .why = "the strategy must fit",
     .stages = in_cluster,
     .whole = mig_strategy},
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
