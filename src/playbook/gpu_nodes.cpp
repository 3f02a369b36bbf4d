#include "playbook/gpu_nodes.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "playbook/kubeadm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

namespace playbook {

namespace {

using base::Version;
using spec::GpuLayout;
using spec::Sharing;

constexpr const char* prefix = "nvidia.com/";

/// A label value: 63 letters, digits, "-", "_", ".", the first and last a letter or digit.
std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text)
    value += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' ? c : '-';
  value.resize(std::min<std::size_t>(value.size(), 63));
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  while (!value.empty() && !plain(value.back())) value.pop_back();
  while (!value.empty() && !plain(value.front())) value.erase(0, 1);
  return value;
}

int instances(const spec::Mig& mig) {
  return std::accumulate(mig.devices.begin(), mig.devices.end(), 0,
                         [](int sum, const auto& of) { return sum + of.second; });
}

bool is_single_mig(const GpuLayout& layout) {
  return !layout.mig.devices.empty() && layout.mig.strategy == spec::MigStrategy::single;
}

std::string strategy_of(const GpuLayout& layout) {
  switch (layout.sharing.sharing) {
    case Sharing::time_slicing:
      return "time-slicing";
    case Sharing::mps:
      return "mps";
    case Sharing::exclusive:
      return "none";
  }
  return "none";
}

/// NAME.full, and its components as written: the revision of 580.159.04 is 04.
void add_version(std::map<std::string, std::string>& all, const std::string& name,
                 const std::string& version) {
  if (!Version::parse(version)) return;
  all[name + ".full"] = version;
  const auto parts = base::split(version, '.');
  constexpr std::array<const char*, 3> words = {".major", ".minor", ".revision"};
  for (std::size_t i = 0; i < std::min(parts.size(), words.size()); ++i) all[name + words[i]] = parts[i];
}

/// Names and values of NVIDIA's GPU Feature Discovery (k8s-device-plugin docs/gpu-feature-discovery).
std::map<std::string, std::string> labels(const Context& context) {
  const facts::Facts& facts = context.facts;
  const GpuLayout layout = layout_of(context.cluster, context.host, facts);
  std::map<std::string, std::string> all = {{"gpu.present", "true"}};
  const bool shared = layout.sharing.sharing != Sharing::exclusive;
  all["mps.capable"] = layout.sharing.sharing == Sharing::mps ? "true" : "false";
  all["gpu.sharing-strategy"] = strategy_of(layout);
  all["gpu.replicas"] = std::to_string(shared ? layout.sharing.replicas : 1);
  if (!layout.mig.devices.empty()) all["mig.strategy"] = is_single_mig(layout) ? "single" : "mixed";
  if (facts.nvidia.driver) {
    add_version(all, "cuda.driver-version", facts.nvidia.driver->version);
    add_version(all, "cuda.runtime-version", facts.nvidia.driver->cuda.value_or(""));
  }
  if (!facts.nvidia.pci_gpus.empty())
    all["gpu.mode"] = facts.nvidia.pci_gpus.front().pci_class == "0302" ? "compute" : "graphics";
  const auto usable = facts::usable_gpus(facts.nvidia);
  if (usable.empty()) return all;
  // A GPU without MIG does not report it.
  all["mig.capable"] =
      std::ranges::any_of(facts.nvidia.gpus, [](const facts::Gpu& gpu) { return gpu.mig.has_value(); })
          ? "true"
          : "false";
  const facts::Gpu& gpu = *usable.front();
  const auto count = usable.size();
  std::string product = gpu.name;
  if (is_single_mig(layout)) product += "-MIG-" + layout.mig.devices.begin()->first;
  if (shared) product += "-SHARED";
  all["gpu.product"] = product;
  all["gpu.count"] =
      std::to_string(is_single_mig(layout) ? count * static_cast<std::size_t>(instances(layout.mig)) : count);
  if (gpu.memory_mib && !is_single_mig(layout)) all["gpu.memory"] = std::to_string(*gpu.memory_mib);
  if (gpu.architecture) all["gpu.family"] = base::lower(*gpu.architecture);
  if (const auto capability = Version::parse(gpu.compute_capability.value_or(""))) {
    all["gpu.compute.major"] = std::to_string(capability->major);
    all["gpu.compute.minor"] = std::to_string(std::max(0, capability->minor));
  }
  return all;
}

/// Every label that gpuadm may have set on a node with GPUs.
constexpr const char* names[] = {"gpu.present",
                                 "gpu.product",
                                 "gpu.count",
                                 "gpu.memory",
                                 "gpu.family",
                                 "gpu.compute.major",
                                 "gpu.compute.minor",
                                 "gpu.replicas",
                                 "gpu.sharing-strategy",
                                 "gpu.mode",
                                 "mig.capable",
                                 "mig.strategy",
                                 "mps.capable",
                                 "cuda.driver-version.full",
                                 "cuda.driver-version.major",
                                 "cuda.driver-version.minor",
                                 "cuda.driver-version.revision",
                                 "cuda.runtime-version.full",
                                 "cuda.runtime-version.major",
                                 "cuda.runtime-version.minor"};

}  // namespace

bool has_gpu(const facts::Facts& facts) {
  return !facts.nvidia.pci_gpus.empty() || !facts.nvidia.gpus.empty() || facts.nvidia.driver.has_value();
}

bool has_gpu_somewhere(const Context& context) {
  if (has_gpu(context.facts) || !context.census) return has_gpu(context.facts);
  return std::ranges::any_of(*context.census,
                             [](const auto& of) { return of.second && has_gpu(*of.second); });
}

bool has_runtime_classes(const Context& context) {
  return context.cluster.runtime.engine != spec::Engine::docker;
}

GpuLayout layout_of(const spec::Cluster& cluster, const spec::Host& host, const facts::Facts& facts) {
  GpuLayout layout = spec::layout_of(cluster, host, facts::models_of(facts.nvidia));
  if (facts.nvidia.quarantine.empty()) return layout;
  layout.visible.emplace();
  for (const facts::Gpu* gpu : facts::usable_gpus(facts.nvidia)) layout.visible->push_back(gpu->uuid);
  return layout;
}

std::vector<GpuLayout> layouts(const Context& context) {
  std::vector<GpuLayout> all;
  const auto add = [&](const spec::Host& host, const facts::Facts& facts) {
    if (!has_gpu(facts)) return;
    GpuLayout layout = layout_of(context.cluster, host, facts);
    const auto same = [&](const GpuLayout& other) { return name_of(other) == name_of(layout); };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(layout));
  };
  if (!context.census) {
    add(context.host, context.facts);
    return all;
  }
  for (const spec::Host& host : context.cluster.hosts)
    if (const auto facts = context.census->find(host.name); facts != context.census->end() && facts->second)
      add(host, *facts->second);
  return all;
}

std::vector<std::string> resources_of(const GpuLayout& layout) {
  if (layout.mig.devices.empty() || is_single_mig(layout)) return {"nvidia.com/gpu"};
  std::vector<std::string> all;
  for (const auto& [profile, count] : layout.mig.devices)
    all.push_back("nvidia.com/mig-" + base::replace_all(profile, "+", "."));
  return all;
}

std::string name_of(const GpuLayout& layout) {
  std::vector<std::string> parts;
  if (!layout.mig.devices.empty()) {
    parts.emplace_back(is_single_mig(layout) ? "mig-single" : "mig-mixed");
    // Shared resources are listed one by one.
    if (!is_single_mig(layout) && layout.sharing.sharing != Sharing::exclusive)
      for (const auto& [profile, count] : layout.mig.devices)
        parts.push_back(base::lower(label_value(profile)));
  }
  if (layout.sharing.sharing != Sharing::exclusive)
    parts.push_back(fmt::format("{}-{}", strategy_of(layout), layout.sharing.replicas));
  if (parts.empty()) parts.emplace_back("exclusive");
  // Different GPUs on every node: so is the name.
  if (layout.visible)
    parts.push_back("quarantine-" + base::sha256(base::join(*layout.visible, ",")).substr(0, 8));
  return base::join(parts, "-");
}

namespace {

/// "nvidia.com/gpu=4", "nvidia.com/mig-1g.18gb=8,nvidia.com/mig-2g.35gb=4".
std::string counts_of(const GpuLayout& layout, std::size_t gpus) {
  const bool shared = layout.sharing.sharing != Sharing::exclusive;
  const auto shares = gpus * static_cast<std::size_t>(shared ? layout.sharing.replicas : 1);
  if (layout.mig.devices.empty()) return fmt::format("{}gpu={}", prefix, shares);
  if (is_single_mig(layout))
    return fmt::format("{}gpu={}", prefix, shares * static_cast<std::size_t>(instances(layout.mig)));
  std::vector<std::string> counts;
  for (const auto& [profile, count] : layout.mig.devices)
    counts.push_back(fmt::format("{}mig-{}={}", prefix, base::replace_all(profile, "+", "."),
                                 shares * static_cast<std::size_t>(count)));
  return base::join(counts, ",");
}

std::string line_of(const Context& context) {
  const spec::Cluster& cluster = context.cluster;
  if (cluster.gpu.stack != spec::GpuStack::native || !has_gpu(context.facts)) return "";
  const GpuLayout layout = layout_of(cluster, context.host, context.facts);
  const std::string start = fmt::format("{} {} ", context.host.name, node_name(context));
  switch (cluster.gpu.allocator) {
    case spec::Allocator::device_plugin:
      return fmt::format("{}{} {}\n", start, name_of(layout),
                         counts_of(layout, facts::usable_gpus(context.facts.nvidia).size()));
    case spec::Allocator::dra:
      return fmt::format("{}dra:{} {}.nvidia.com\n", start, driver_root_name(context),
                         layout.mig.devices.empty() ? "gpu" : "mig");
    case spec::Allocator::none:
      return "";
  }
  return "";
}

}  // namespace

std::string gpu_nodes(const Context& context) {
  if (!context.census) return line_of(context);
  std::string text;
  for (const spec::Host& host : context.cluster.hosts)
    if (const auto facts = context.census->find(host.name); facts != context.census->end() && facts->second)
      text += line_of({context.cluster, context.decisions, host, *facts->second, context.catalog,
                       context.bundle, context.kubernetes, context.census});
  return text;
}

std::string node_labels(const Context& context) {
  if (!has_gpu(context.facts)) return "";
  const bool native = context.cluster.gpu.stack == spec::GpuStack::native;
  std::string text;
  // With the GPU Operator, they belong to its own GPU Feature Discovery and are not changed.
  if (native) {
    const auto wanted = labels(context);
    for (const char* name : names)
      if (const auto place = wanted.find(name); place != wanted.end())
        text += fmt::format("{}{}={}\n", prefix, name, label_value(place->second));
      else
        text += fmt::format("{}{}-\n", prefix, name);
  }
  const bool plugin = native && context.cluster.gpu.allocator == spec::Allocator::device_plugin;
  const std::string key = layout_label;
  text += plugin
              ? fmt::format("{}={}\n", key, name_of(layout_of(context.cluster, context.host, context.facts)))
              : key + "-\n";
  const bool dra = native && context.cluster.gpu.allocator == spec::Allocator::dra;
  text += dra ? fmt::format("{}={}\n", driver_root_label, driver_root_name(context))
              : fmt::format("{}-\n", driver_root_label);
  return text;
}

}  // namespace playbook
