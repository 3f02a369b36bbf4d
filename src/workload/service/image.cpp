#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/service_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace workload {

namespace {

using base::Fault;
using base::Tree;
using base::Version;

constexpr long long mebibyte = 1LL << 20, most_shm = 64LL << 30, shm_without_cluster = 8LL << 30;

bool offers(const GpuSupply& supply, const facts::Node& node) {
  return std::ranges::any_of(supply.offers, [&](const GpuOffer& offer) { return offer.node == node.name; });
}

bool can_run(const facts::Node& node) {
  const auto ready = node.conditions.find("Ready");
  return !node.unschedulable && ready != node.conditions.end() && ready->second.status == "True";
}

std::string quantity(long long bytes) {
  return fmt::format("{}Mi", std::max(1LL, bytes / mebibyte));
}

}  // namespace

std::optional<Version> cuda_of(const facts::ClusterFacts& cluster, const GpuSupply& supply) {
  std::optional<Version> lowest;
  if (!cluster.nodes) return lowest;
  for (const facts::Node& node : *cluster.nodes) {
    if (!offers(supply, node)) continue;
    const auto label = node.labels.find("nvidia.com/cuda.runtime-version.full");
    const auto version = label == node.labels.end() ? std::nullopt : Version::parse(label->second);
    if (!version) return std::nullopt;
    if (!lowest || *version < *lowest) lowest = version;
  }
  return lowest;
}

Result<std::string> image_for(const Tree& images, const std::string& name, const GpuRequest& gpus,
                              const std::optional<Version>& cuda) {
  const Tree* oldest = nullptr;
  for (const Tree& entry : images.items()) {
    const Tree* image = entry.find("image");
    const Tree* needs = entry.find("cuda");
    if (!image) continue;
    if (!gpus.any() && !needs) return image->text();
    if (!gpus.any() || !needs) continue;
    const auto version = Version::parse(needs->text());
    if (version && cuda && *version <= *cuda) return image->text();
    oldest = image;
  }
  if (!oldest) return base::fail(Fault::bug, fmt::format("playbooks/catalog.yaml has no image of {}", name));
  if (!cuda) return oldest->text();
  return base::fail(
      Fault::blocked,
      fmt::format("the driver supports CUDA {}, which is too old for every {} image of the catalog",
                  cuda->minor_text(), name),
      "gpuadm upgrade --driver, or --image with an older image");
}

std::string shm_of(const ServicePod& pod, const facts::ClusterFacts* cluster, const GpuSupply& supply) {
  if (const auto limit = bytes_of("--memory", pod.memory); !pod.memory.empty() && limit)
    return quantity(*limit / 2);
  long long smallest = std::numeric_limits<long long>::max();
  if (cluster && cluster->nodes)
    for (const facts::Node& node : *cluster->nodes) {
      const auto memory = node.allocatable.find("memory");
      if (memory == node.allocatable.end() || !can_run(node)) continue;
      if (pod.gpus.any() && !offers(supply, node)) continue;
      if (const auto bytes = bytes_of("memory", memory->second)) smallest = std::min(smallest, *bytes);
    }
  if (smallest == std::numeric_limits<long long>::max()) return quantity(shm_without_cluster);
  return quantity(std::min(smallest / 2, most_shm));
}

}  // namespace workload
