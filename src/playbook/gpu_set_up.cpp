#include "gpuadm/base/text.hpp"
#include "gpuadm/playbook/playbook.hpp"

#include "playbook/gpu_nodes.hpp"

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

std::string to_text(const GpuSetUp& set_up) {
  if (set_up.allocator == Allocator::dra) return "NVIDIA's DRA driver";
  if (set_up.allocator == Allocator::none) return "no allocator";
  const bool shared = set_up.sharing.sharing != Sharing::exclusive;
  const std::string sharing = name_of({.sharing = set_up.sharing, .mig = {}, .visible = {}});
  if (set_up.mig.empty()) return sharing;
  return shared ? set_up.mig + ", " + sharing : set_up.mig;
}

}  // namespace playbook
