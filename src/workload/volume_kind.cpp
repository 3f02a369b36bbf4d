#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;

std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : base::printable(base::join(names, ", "), 300);
}

std::string existing(const VolumeNames& names, const std::string& ns) {
  return fmt::format("claims in {}: {}; storages: {}; StorageClasses: {}", ns, list_of(names.claims),
                     list_of(names.storages), list_of(names.classes));
}

}  // namespace

Result<VolumeKind> volume_kind(const std::string& name, VolumeSize size, const VolumeNames& names,
                               const std::string& ns) {
  const auto has = [&](const std::vector<std::string>& list) { return std::ranges::count(list, name) > 0; };
  const bool claim = has(names.claims), storage = has(names.storages), with_class = has(names.classes);
  if (size == VolumeSize::missing && claim) return VolumeKind::claim;
  if (size == VolumeSize::missing && (storage || with_class))
    return base::fail(Fault::blocked,
                      fmt::format("--storage: {} is a {}, and the size of a new volume on it is not given",
                                  name, storage ? "storage" : "StorageClass"),
                      "add --size, for example --size 10Gi");
  if (storage && with_class)
    return base::fail(
        Fault::blocked,
        fmt::format("--storage: {} is a storage and also a StorageClass ({})", name, existing(names, ns)),
        fmt::format("create the claim first: gpuadm storage claim CLAIM --size 10Gi --on {}, then --storage "
                    "CLAIM without --size",
                    name));
  if (storage) return VolumeKind::storage;
  if (with_class) return VolumeKind::storage_class;
  if (claim) return VolumeKind::claim;
  return base::fail(Fault::blocked,
                    fmt::format("--storage: {} is neither a PersistentVolumeClaim nor a storage nor a "
                                "StorageClass ({})",
                                name, existing(names, ns)),
                    "gpuadm storage list, or gpuadm storage add");
}

std::vector<std::string> names_in(const std::vector<base::Tree>& objects, std::string_view kind) {
  std::vector<std::string> names;
  for (const base::Tree& object : objects)
    if (text_at(object, {"kind"}) == kind) names.push_back(text_at(object, {"metadata", "name"}));
  return names;
}

}  // namespace workload
