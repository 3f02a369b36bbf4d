#include "gpuadm/cluster/health_metrics.hpp"
#include "gpuadm/cluster/usage_record.hpp"

#include <algorithm>

namespace cluster {

namespace {

using facts::Gpu;

constexpr double least_rest = 1e-6;

/// UIDs of the pods to which the kubelet has allocated a device.
std::vector<std::string> allocated_to(const UsageReadings& readings, const std::string& uuid) {
  if (!readings.allocations) return {};
  const auto found = readings.allocations->pods.find(uuid);
  if (found == readings.allocations->pods.end()) return {};
  return {found->second.begin(), found->second.end()};
}

/// A device that the kubelet does not name: free only if it would have named it.
UsageState unallocated(const UsageReadings& readings) {
  return readings.allocations && readings.allocations->complete ? UsageState::free : UsageState::unknown;
}

UsagePart whole_gpu(const UsageReadings& readings, const Gpu& gpu) {
  UsagePart part{.gpu = gpu.uuid, .mig = {}, .pods = allocated_to(readings, gpu.uuid)};
  const auto programs = readings.programs.find(gpu.uuid);
  const bool used = programs != readings.programs.end();
  if (part.pods.empty() && used) part.pods.assign(programs->second.pods.begin(), programs->second.pods.end());
  if (!part.pods.empty() || (used && programs->second.others))
    part.state = UsageState::held;
  else
    part.state = unallocated(readings);
  if (const auto percent = reading_of(gpu, "DCGM_FI_DEV_GPU_UTIL"); percent && *percent >= 0)
    part.utilization = std::min(*percent / 100, 1.0);
  return part;
}

/// The instances, and the rest. If the memory of one is unknown, all of it is.
std::vector<UsagePart> instances_of(const UsageReadings& readings, const Gpu& gpu) {
  std::vector<UsagePart> parts;
  double rest = 1;
  bool known = gpu.memory_mib && *gpu.memory_mib > 0;
  for (const facts::MigInstance& instance : gpu.instances) {
    known = known && instance.total_mib && *instance.total_mib > 0;
    if (!known) break;
    const double share = *instance.total_mib / static_cast<double>(*gpu.memory_mib);
    UsagePart part{
        .gpu = gpu.uuid, .mig = instance.uuid, .share = share, .pods = allocated_to(readings, instance.uuid)};
    part.state = part.pods.empty() ? unallocated(readings) : UsageState::held;
    rest -= share;
    parts.push_back(std::move(part));
  }
  if (!known || rest < -least_rest || static_cast<int>(gpu.instances.size()) != gpu.mig_devices)
    return {{.gpu = gpu.uuid, .mig = {}}};
  if (rest > least_rest)
    parts.push_back({.gpu = gpu.uuid, .mig = "rest", .share = rest, .state = UsageState::free, .pods = {}});
  // A program on an instance that the kubelet has not allocated: which one is not known.
  const auto programs = readings.programs.find(gpu.uuid);
  if (programs != readings.programs.end()) {
    const auto has_a_part = [&](const std::string& uid) {
      return std::ranges::any_of(
          parts, [&](const UsagePart& part) { return std::ranges::find(part.pods, uid) != part.pods.end(); });
    };
    if (programs->second.others || !std::ranges::all_of(programs->second.pods, has_a_part))
      for (UsagePart& part : parts)
        if (part.state == UsageState::free) part.state = UsageState::unknown;
  }
  return parts;
}

}  // namespace

std::vector<UsagePart> usage_parts(const UsageReadings& readings, std::span<const std::string> known) {
  std::vector<UsagePart> parts;
  std::set<std::string> listed;
  if (readings.nvidia)
    for (const Gpu& gpu : readings.nvidia->gpus) {
      if (!listed.insert(gpu.uuid).second) continue;
      std::vector<UsagePart> of_gpu = gpu.mig == "Enabled" ? instances_of(readings, gpu)
                                                           : std::vector<UsagePart>{whole_gpu(readings, gpu)};
      const auto power = reading_of(gpu, "DCGM_FI_DEV_POWER_USAGE");
      for (UsagePart& part : of_gpu) {
        if (power && *power >= 0) part.power = power;
        parts.push_back(std::move(part));
      }
    }
  std::size_t missing = static_cast<std::size_t>(std::max(readings.gpus, 0));
  missing -= std::min(missing, listed.size());
  for (const std::string& uuid : known) {
    if (missing == 0) break;
    if (!listed.insert(uuid).second) continue;
    parts.push_back({.gpu = uuid, .mig = {}, .pods = {}});
    --missing;
  }
  for (; missing > 0; --missing)
    parts.push_back({.gpu = "unlisted-" + std::to_string(missing), .mig = {}, .pods = {}});
  return parts;
}

}  // namespace cluster
