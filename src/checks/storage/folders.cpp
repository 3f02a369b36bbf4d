#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/storage.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Folders of storage: who could replace the files of claims.
namespace checks {

namespace {

/// Where a folder is: the share, above it, gpuadm-NAME or below, or the folder of a claim.
enum class Part { above, share, inside, claim };

Part part_of(const std::string& path, const spec::Storage& storage) {
  const std::string marker = spec::marker_of(storage), claims = marker + "/claims/";
  if (path == spec::place_of(storage)) return Part::share;
  if (path.starts_with(claims) && std::ranges::count(path.substr(claims.size()), '/') > 0) return Part::claim;
  return path == marker || path.starts_with(marker + "/") ? Part::inside : Part::above;
}

/// The rules of storage_hold, storage_enter and claim_is_folder in playbooks/, except for ACLs and members of
/// groups. Empty: only root can replace what is in the folder.
std::string danger_of(const facts::StorageFolder& folder, Part part, const spec::Storage& storage,
                      std::string& remedy) {
  const bool network = storage.kind == spec::StorageKind::nfs || storage.kind == spec::StorageKind::path;
  const bool owned = folder.uid == 0 || (part != Part::above && network && folder.uid == 65534);
  const std::string& mode = folder.mode;
  const bool link = mode[0] == 'l', by_group = mode[5] == 'w', by_all = mode[8] == 'w',
             sticky = mode[9] == 't' || mode[9] == 'T';
  remedy = "gpuadm storage list; then look at: ls -la " + folder.path;
  if (part == Part::claim)
    return mode[0] == 'd' ? "" : folder.path + " is not a folder, and pods may mount it";
  if (link && part == Part::inside) return folder.path + " is a symbolic link";
  if (!owned) {
    if (part != Part::inside) remedy = "chown root:root " + folder.path;
    return fmt::format("{} belongs to the user id {}", folder.path, folder.uid);
  }
  if (link) return "";
  if (folder.path == spec::marker_of(storage) && !mode.starts_with("drwx--"))
    return folder.path + " can be read or written by others";
  if (!by_all && !(by_group && folder.gid != 0)) return "";
  if (part != Part::inside && sticky) return "";
  if (part != Part::inside) remedy = fmt::format("chmod {} {}", by_all ? "+t" : "g-w", folder.path);
  return fmt::format("{} can write to {}", by_all ? "everyone" : fmt::format("the group id {}", folder.gid),
                     folder.path);
}

bool is_of_another(const facts::StorageFolder& folder, const spec::Storage& storage,
                   const spec::Cluster& cluster) {
  return std::ranges::any_of(cluster.storage, [&](const spec::Storage& other) {
    const std::string marker = spec::marker_of(other);
    return other.name != storage.name && spec::place_of(other) != spec::place_of(storage) &&
           (folder.path == spec::place_of(other) || folder.path == marker ||
            folder.path.starts_with(marker + "/"));
  });
}

/// The files of claims are those of gpuadm-NAME, and no user could have put something else there.
void storage_folders(const Subject& s, Verdicts& out) {
  bool any = false;
  for (const spec::Storage& storage : s.cluster.storage) {
    if (!spec::is_on(storage, s.host)) continue;
    any = true;
    if (!s.facts.storage.folders) return out.unknown("the folders of storage could not be read");
    for (const facts::StorageFolder& folder : *s.facts.storage.folders) {
      if (is_of_another(folder, storage, s.cluster)) continue;
      std::string remedy;
      const std::string danger = danger_of(folder, part_of(folder.path, storage), storage, remedy);
      if (!danger.empty())
        out.fail(Severity::warning, fmt::format("users can replace files of the storage {}", storage.name),
                 danger, remedy);
    }
  }
  if (!any) out.not_applicable("the cluster file has no storage on this host");
}

constexpr std::array folder_rows = std::to_array<Check>({
    {"st.storage-folders", "only root can replace folders of storage",
     "pods mount what a user puts in the place of the files of a claim", "storage-folders", node,
     storage_folders},
});

}  // namespace

std::span<const Check> storage_folder_checks() {
  return folder_rows;
}

}  // namespace checks
