#include "checks/gpu/mig.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

namespace {

/// One bit a memory slice: at most eight.
using Slices = unsigned;

Slices slices_of(const MigProfile& profile, int place) {
  return ((1u << profile.memory) - 1u) << place;
}

/// Whether the instances from `next` on fit in addition to the placed ones; the largest are first.
bool fits(const std::vector<const MigProfile*>& instances, std::size_t next, Slices taken) {
  if (next == instances.size()) return true;
  return std::ranges::any_of(instances[next]->places, [&](int place) {
    const Slices wanted = slices_of(*instances[next], place);
    return (wanted & taken) == 0 && fits(instances, next + 1, taken | wanted);
  });
}

std::string known(const MigGpu& gpu) {
  std::vector<std::string> names;
  for (const auto& [name, profile] : gpu.profiles) names.push_back(name);
  return base::join(names, ", ");
}

}  // namespace

std::optional<std::string> mig_trouble(const MigGpu& gpu, const std::map<std::string, int>& devices) {
  std::vector<const MigProfile*> instances;
  int compute = 0, all = 0;
  for (const auto& [name, profile] : gpu.profiles) all = std::max(all, profile.compute);
  for (const auto& [name, count] : devices) {
    const auto place = gpu.profiles.find(name);
    if (place == gpu.profiles.end())
      return fmt::format("{} has no profile {}; it has {}", gpu.name, name, known(gpu));
    if (count > place->second.most)
      return fmt::format("{} of {} on one {}: at most {} at once", count, name, gpu.name, place->second.most);
    compute += count * place->second.compute;
    instances.insert(instances.end(), static_cast<std::size_t>(count), &place->second);
  }
  if (compute > all)
    return fmt::format("the instances take {} compute slices, and {} has {}", compute, gpu.name, all);
  std::ranges::sort(instances, std::greater{}, &MigProfile::memory);
  if (!fits(instances, 0, 0)) return fmt::format("the instances do not fit into the memory of {}", gpu.name);
  return std::nullopt;
}

}  // namespace checks
