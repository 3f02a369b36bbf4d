#include "gpuadm/base/text.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include "playbook/gpu_nodes.hpp"

#include <algorithm>

namespace playbook {

namespace {

using spec::Allocator;
using spec::Sharing;

/// The sharing at the end of a name of name_of().
spec::GpuProfile sharing_in(std::string_view name) {
  const auto ends_with = [&](std::string_view way, Sharing sharing) -> std::optional<spec::GpuProfile> {
    const std::size_t at = name.rfind(way);
    if (at == std::string_view::npos || (at > 0 && name[at - 1] != '-')) return std::nullopt;
    const auto replicas = base::to_int(name.substr(at + way.size()));
    if (!replicas || *replicas < 1 || *replicas > 1000) return std::nullopt;
    return spec::GpuProfile{sharing, static_cast<int>(*replicas)};
  };
  if (const auto found = ends_with("time-slicing-", Sharing::time_slicing)) return *found;
  return ends_with("mps-", Sharing::mps).value_or(spec::GpuProfile());
}

}  // namespace

std::optional<GpuSetUp> gpu_set_up(const std::map<std::string, std::string>& labels) {
  GpuSetUp set_up;
  if (labels.contains(driver_root_label)) {
    set_up.allocator = Allocator::dra;
    return set_up;
  }
  const auto label = labels.find(layout_label);
  if (label == labels.end()) return std::nullopt;
  std::string_view name = label->second;
  if (const std::size_t at = name.find("-quarantine-"); at != std::string_view::npos)
    name = name.substr(0, at);
  for (const std::string_view mig : {"mig-single", "mig-mixed"})
    if (name.starts_with(mig)) set_up.mig = mig;
  set_up.sharing = sharing_in(name);
  return set_up;
}

GpuSetUp gpu_set_up(const spec::Cluster& cluster, const spec::Host& host, const facts::Nvidia& nvidia) {
  GpuSetUp set_up;
  set_up.allocator = cluster.gpu.allocator;
  if (set_up.allocator == Allocator::dra) return set_up;
  const spec::GpuLayout layout = spec::layout_of(cluster, host, facts::models_of(nvidia));
  if (!layout.mig.devices.empty()) set_up.mig = name_of({.sharing = {}, .mig = layout.mig, .visible = {}});
  set_up.sharing = layout.sharing;
  return set_up;
}

std::optional<spec::Mig> mig_of(const facts::Node& node, std::size_t gpus) {
  const auto set_up = gpu_set_up(node.labels);
  if (!set_up || set_up->mig.empty() || gpus == 0) return std::nullopt;
  const auto label = [&](const char* name) -> std::string_view {
    const auto place = node.labels.find(name);
    return place == node.labels.end() ? std::string_view() : std::string_view(place->second);
  };
  const auto per_gpu = [&](std::string_view count, int shares) {
    const auto all = base::to_int(count);
    const long long of = static_cast<long long>(gpus) * shares;
    return all && *all > 0 && *all % of == 0 ? static_cast<int>(*all / of) : 0;
  };
  spec::Mig mig;
  if (set_up->mig == "mig-single") {
    std::string_view product = label("nvidia.com/gpu.product");
    if (product.ends_with("-SHARED")) product.remove_suffix(std::string_view("-SHARED").size());
    const std::size_t at = product.rfind("-MIG-");
    if (at == std::string_view::npos) return std::nullopt;
    mig.devices[std::string(product.substr(at + 5))] = per_gpu(label("nvidia.com/gpu.count"), 1);
  } else {
    mig.strategy = spec::MigStrategy::mixed;
    for (const auto& [resource, count] : node.capacity)
      if (constexpr std::string_view prefix = "nvidia.com/mig-"; resource.starts_with(prefix))
        mig.devices[base::replace_all(resource.substr(prefix.size()), ".me", "+me")] =
            per_gpu(count, set_up->sharing.replicas);
  }
  const auto is_unknown = [](const auto& of) { return of.second == 0 || !spec::is_mig_profile(of.first); };
  if (mig.devices.empty() || std::ranges::any_of(mig.devices, is_unknown)) return std::nullopt;
  return mig;
}

std::string to_text(const GpuSetUp& set_up) {
  if (set_up.allocator == Allocator::dra) return "NVIDIA's DRA driver";
  if (set_up.allocator == Allocator::none) return "no allocator";
  const bool shared = set_up.sharing.sharing != Sharing::exclusive;
  const std::string sharing = name_of({.sharing = set_up.sharing, .mig = {}, .visible = {}});
  if (set_up.mig.empty()) return sharing;
  return shared ? set_up.mig + ", " + sharing : set_up.mig;
}

}  // namespace playbook
