#include "facts/gpu/devices.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/table.hpp"

#include <algorithm>
#include <array>

namespace facts {

namespace {

constexpr std::string_view nvidia_driver = "gpu.nvidia.com";

/// The components of "a/b/c", as many as N; missing ones are empty.
template <std::size_t N>
std::array<std::string, N> parts_of(const std::string& word) {
  std::array<std::string, N> parts;
  const auto found = base::split(word, '/');
  for (std::size_t i = 0; i < std::min(N, found.size()); ++i) parts[i] = found[i];
  return parts;
}

ResourceSlice read_slice(const Row& row) {
  ResourceSlice slice{row.text(1), row.text(2), row.text(3), {}};
  for (const std::string& word : row.words(4)) {
    const auto [name, type, uuid, parent] = parts_of<4>(word);
    slice.devices.push_back({name, type, uuid, parent});
  }
  return slice;
}

ResourceClaim read_claim(const Row& row) {
  ResourceClaim claim{row.text(0), row.text(1), {}, {}};
  for (const std::string& word : row.words(2)) {
    const auto [driver, pool, device, admin] = parts_of<4>(word);
    if (admin != "true") claim.allocations.push_back({driver, pool, device});
  }
  for (const std::string& word : row.words(3)) {
    const auto [resource, name] = parts_of<2>(word);
    if (resource == "pods") claim.pods.push_back(name);
  }
  return claim;
}

TaintRule read_rule(const Row& row) {
  const auto selector = row.map(2);
  const auto part = [&](const char* key) {
    const auto place = selector.find(key);
    return place == selector.end() ? std::string() : place->second;
  };
  return {row.text(0),
          row.text(1),
          part("driver"),
          part("pool"),
          part("device"),
          row.text(3),
          !row.text(2).empty() && !selector.contains("deviceClassName") && !selector.contains("selectors")};
}

/// The rule that keeps new pods from a device; empty: none.
std::string taint_of(const ClusterFacts& cluster, const ResourceSlice& slice, const Device& device) {
  if (!cluster.taint_rules) return {};
  const auto selects = [](const std::string& wanted, const std::string& name) {
    return wanted.empty() || wanted == name;
  };
  for (const TaintRule& rule : *cluster.taint_rules)
    if (rule.selects && (rule.effect == "NoSchedule" || rule.effect == "NoExecute") &&
        selects(rule.driver, slice.driver) && selects(rule.pool, slice.pool) &&
        selects(rule.device, device.name))
      return rule.name;
  return {};
}

/// From the API group's description; an API server without the group returns an error.
std::optional<std::vector<std::string>> read_versions(const Sections& sections) {
  const auto text = sections.text("resource-api");
  if (!text) return std::nullopt;
  if (text->find("(NotFound)") != std::string::npos) return std::vector<std::string>();
  const auto group = base::json::read(*text, "resource.k8s.io");
  const base::Tree* versions = group ? group->find("versions") : nullptr;
  if (!versions) return std::nullopt;
  std::vector<std::string> found;
  for (const base::Tree& one : versions->items())
    if (const base::Tree* version = one.find("version")) found.push_back(version->text());
  return found;
}

}  // namespace

void read_devices(const Sections& sections, ClusterFacts& facts) {
  facts.dra_versions = read_versions(sections);
  facts.device_classes =
      table<std::string>(sections, "deviceclasses", [](const Row& row) { return row.text(0); });
  facts.slices = table<ResourceSlice>(sections, "resourceslices", read_slice);
  facts.taint_rules = table<TaintRule>(sections, "devicetaintrules", read_rule);
  facts.resource_claims = table<ResourceClaim>(sections, "resourceclaims", read_claim);
}

std::vector<GpuDevice> gpu_devices(const ClusterFacts& cluster, std::string_view node) {
  std::vector<GpuDevice> found;
  if (!cluster.slices || node.empty()) return found;
  for (const ResourceSlice& slice : *cluster.slices) {
    if (slice.driver != nvidia_driver || slice.node != node) continue;
    for (const Device& device : slice.devices) {
      if (device.type == "vfio") continue;  // a GPU that is passed through to a virtual machine
      GpuDevice& made = found.emplace_back(GpuDevice{device, {}, {}, taint_of(cluster, slice, device)});
      if (!cluster.resource_claims) continue;
      for (const ResourceClaim& claim : *cluster.resource_claims)
        for (const Allocation& has : claim.allocations)
          if (has.driver == slice.driver && has.pool == slice.pool && has.device == device.name) {
            made.claim = claim.ns + "/" + claim.name;
            for (const std::string& pod : claim.pods) made.pods.push_back(claim.ns + "/" + pod);
          }
    }
  }
  return found;
}

bool allocates_by_claims(const ClusterFacts& cluster, const Node& node) {
  const bool plugin = std::ranges::any_of(node.allocatable, [](const auto& of) {
    return (of.first.starts_with("nvidia.com/gpu") || of.first.starts_with("nvidia.com/mig-")) &&
           base::to_int(of.second).value_or(0) > 0;
  });
  return !plugin && !gpu_devices(cluster, node.name).empty();
}

}  // namespace facts
