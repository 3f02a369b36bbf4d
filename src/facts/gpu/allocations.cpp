#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/gpu_users.hpp"

#include "facts/read.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace facts {

namespace {

using base::Tree;

constexpr std::size_t longest_id = 200;

/// "GPU-…" or "MIG-…" of a device or of a share of it; empty: another name.
std::string_view device_uuid(std::string_view id) {
  if (!id.starts_with("GPU-") && !id.starts_with("MIG-")) return {};
  return id.substr(0, std::min(id.find("::"), longest_id));
}

/// Calls `take` with each ID: a list, before Kubernetes 1.20; then lists by NUMA node.
template <class Take>
void each_id(const Tree* ids, const Take& take) {
  if (!ids) return;
  for (const Tree& id : ids->items()) take(id.text());
  for (const auto& [numa, list] : ids->entries())
    for (const Tree& id : list.items()) take(id.text());
}

bool is_pod_uid(std::string_view uid) {
  return !uid.empty() && uid.size() <= 36 &&
         uid.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

}  // namespace

base::Result<GpuAllocations> parse_gpu_allocations(std::string_view checkpoint) {
  const Tree tree = TRY(base::json::read(checkpoint, "kubelet_internal_checkpoint"));
  const Tree* data = tree.find("Data");
  if (!data || !data->is_map() || !tree.find("Checksum"))
    return base::fail(base::Fault::parse, "the kubelet's checkpoint of devices has another form");
  GpuAllocations found;
  bool any = false, named = true;
  const auto take = [&](const std::string& resource, std::string_view id) {
    const std::string_view uuid = device_uuid(id);
    if (!uuid.empty())
      any = true;
    else if (resource.starts_with("nvidia.com/"))
      named = false;
    return uuid;
  };
  if (const Tree* registered = data->find("RegisteredDevices"))
    for (const auto& [resource, ids] : registered->entries())
      each_id(&ids, [&](std::string_view id) { take(resource, id); });
  if (const Tree* entries = data->find("PodDeviceEntries"))
    for (const Tree& entry : entries->items()) {
      const std::string uid = base::text_of(entry, "PodUID"), resource = base::text_of(entry, "ResourceName");
      each_id(entry.find("DeviceIDs"), [&](std::string_view id) {
        const std::string_view uuid = take(resource, id);
        if (uuid.empty()) return;
        if (is_pod_uid(uid))
          found.pods[std::string(uuid)].insert(uid);
        else
          named = false;
      });
    }
  found.complete = any && named;
  return found;
}

void read_allocations(const Sections& sections, Facts& facts) {
  const Section* checkpoint = sections.find("kubelet-devices");
  if (!checkpoint || checkpoint->status != 0) return;
  const auto allocations = parse_gpu_allocations(checkpoint->text());
  if (!allocations || !allocations->complete) return;
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string_view folder : sections.lines("gpu-pods"))
    if (const auto part = base::split(folder, '_'); part.size() == 3)
      names.emplace(std::string(part[2]), fmt::format("{}/{}", part[0], part[1]));
  auto& allocated = facts.nvidia.allocated.emplace();
  for (const auto& [uuid, pods] : allocations->pods)
    for (const std::string& uid : pods) {
      const auto name = names.find(uid);
      // Without a folder it has not started yet, or is gone.
      allocated[uuid].insert(name == names.end() ? "pod " + uid : name->second);
    }
}

}  // namespace facts
