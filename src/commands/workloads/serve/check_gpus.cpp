#include "commands/workloads/serve/check_gpus.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace commands {

namespace {

using base::Fault;

constexpr std::uint64_t mib = 1u << 20, kib = 1u << 10;

struct UsableGpu {
  const facts::Gpu* gpu;
  std::uint64_t total = 0;
  std::optional<std::uint64_t> free;
};

/// "78412 MiB"
std::optional<std::uint64_t> mib_of(const std::map<std::string, std::string>& readings, const char* name) {
  const auto found = readings.find(name);
  if (found == readings.end()) return std::nullopt;
  const auto words = base::words(found->second);
  const auto number = words.empty() ? std::nullopt : base::to_int(words[0]);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number) * mib;
}

std::vector<UsableGpu> usable_of(const facts::Nvidia& nvidia) {
  std::vector<UsableGpu> usable;
  for (const facts::Gpu* gpu : facts::usable_gpus(nvidia))
    if (gpu->memory_mib && gpu->mig != "Enabled")
      usable.push_back({gpu, *gpu->memory_mib * mib, mib_of(gpu->readings, "fb_memory_usage/free")});
  std::ranges::stable_sort(usable, std::greater{},
                           [](const UsableGpu& one) { return one.free.value_or(one.total); });
  return usable;
}

std::string why_none(const facts::Nvidia& nvidia) {
  if (nvidia.gpus.empty())
    return nvidia.pci_gpus.empty() ? "it has no NVIDIA GPU" : "its GPUs are unknown: nvidia-smi lists none";
  if (std::ranges::any_of(nvidia.gpus, [](const facts::Gpu& gpu) { return gpu.mig == "Enabled"; }))
    return "its GPUs are divided by MIG: name the memory of an instance with --gpu-memory";
  return "the memory of its GPUs is unknown, or they are in quarantine";
}

}  // namespace

GpuSet gpus_of(const std::string& host, const facts::Facts& facts, const model::Demand& demand) {
  GpuSet set{host, {}, 0, demand};
  std::vector<UsableGpu> usable = usable_of(facts.nvidia);
  set.count = static_cast<int>(usable.size());
  if (usable.empty()) {
    set.problem = why_none(facts.nvidia);
    return set;
  }
  if (set.count < demand.gpus)
    set.problem = fmt::format("it has {} GPU{} that can be used, and {} are requested", set.count,
                              set.count == 1 ? "" : "s", demand.gpus);
  usable.resize(std::min(usable.size(), static_cast<std::size_t>(std::max(demand.gpus, 1))));
  set.demand.memory_total = std::ranges::min(usable, {}, &UsableGpu::total).total;
  bool has_capabilities = true;
  for (const UsableGpu& one : usable) {
    const std::uint64_t free = one.free.value_or(one.total);
    set.demand.memory_free = std::min(set.demand.memory_free.value_or(free), free);
    const auto capability = base::Version::parse(one.gpu->compute_capability.value_or(""));
    has_capabilities = has_capabilities && capability;
    if (capability && (!set.demand.capability || *capability < *set.demand.capability))
      set.demand.capability = capability;
  }
  if (!has_capabilities) set.demand.capability.reset();
  set.demand.gpu = usable.front().gpu->name;
  if (facts.nvidia.driver) set.demand.driver = facts.nvidia.driver->version;
  if (facts.machine.memory_kib) set.demand.host_memory = *facts.machine.memory_kib * kib;
  return set;
}

Result<std::uint64_t> parse_gpu_memory(const std::string& text) {
  std::string quantity = text;
  if (quantity.ends_with('B')) quantity.pop_back();
  const auto bytes = kube::parse_quantity(quantity);
  if (bytes && *bytes >= mib && *bytes < 1e15) return static_cast<std::uint64_t>(*bytes);
  return base::fail(Fault::usage, fmt::format("--gpu-memory {}: not a size", base::printable(text, 40)),
                    "for example --gpu-memory 80GiB");
}

Result<base::Version> capability_of(const std::string& product, std::string_view csv) {
  std::set<std::string> capabilities;
  const std::string wanted = base::lower(product);
  for (const std::string_view line : base::lines(csv)) {
    const auto cells = base::split(line, ',');
    if (cells.size() < 7 || cells[6].empty()) continue;
    const std::string name = base::lower(cells[2]);
    const bool is_it = !wanted.empty() && (" " + name + " ").find(" " + wanted + " ") != std::string::npos;
    if (is_it || base::lower(cells[3]) == wanted) capabilities.insert(std::string(cells[6]));
  }
  const auto version = capabilities.size() == 1 ? base::Version::parse(*capabilities.begin()) : std::nullopt;
  if (version) return *version;
  return base::fail(
      Fault::usage,
      capabilities.empty()
          ? fmt::format("--gpu-product {}: no product in data/gpus.csv has this name",
                        base::printable(product, 80))
          : fmt::format("--gpu-product {}: products of that name differ", base::printable(product, 80)),
      "the name as nvidia-smi shows it, for example --gpu-product H200");
}

}  // namespace commands
