#include "gpuadm/base/text.hpp"

#include "checks/kubelet/disk_pressure.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Disk;
using facts::Mount;

/// Images of a control plane alone take about 1 GB unpacked; images with CUDA 5 to 20 GB each.
constexpr std::uint64_t least_kib = 2ull << 20, wanted_kib = 20ull << 20;

struct Place {
  std::string path;
  const char* what;
  EvictionSignal signal;
};

/// Below the kubelet's threshold no pod is scheduled on the node, and images from a bundle are deleted before
/// their pods start. A node that exists does not stop a run: `kubelet.eviction` judges it.
bool is_under_threshold(const Subject& s, const Place& place, const Disk& disk, const std::string& evidence,
                        const std::string& remedy, Verdicts& out) {
  const base::Tree settings = kubelet_settings(s);
  const std::string threshold = eviction_threshold(settings, place.signal);
  const auto total = static_cast<double>(disk.total_kib) * 1024,
             free = static_cast<double>(disk.free_kib) * 1024;
  const std::string also = remedy + ", or lower the kubelet's threshold: gpuadm explain host.disk.root-free";
  // A configured folder that does not exist yet may be mounted later.
  const bool known = disk.path == place.path || place.path.starts_with("/var/lib/");
  const bool blocks = known && !s.facts.kubernetes.kubelet_conf && !has_threshold_flags(s);
  if (const auto least = share_of(threshold, total); least && free < *least * total) {
    out.fail(blocks ? Severity::blocker : Severity::warning,
             fmt::format("less than {} is free for {}: the kubelet evicts pods there",
                         base::replace_all(threshold, "%", " %"), place.what),
             evidence, also);
    return true;
  }
  // pkg/kubelet/images/image_gc_manager.go: 100 - available * 100 / capacity, in whole numbers.
  const double most = image_deletion_percent(settings);
  if (!place.signal.images || most >= 100 || free * 100 >= total * (101 - most)) return false;
  out.fail(Severity::warning,
           fmt::format("{} % or more is in use for images: the kubelet deletes unused images there", most),
           evidence, also);
  return true;
}

void root_free(const Subject& s, Verdicts& out) {
  if (s.facts.storage.disks.empty()) return out.unknown("free space could not be read");
  const std::string images = images_root(s);
  for (const Place& place :
       {Place{"/var/lib/kubelet", "pods", nodefs_available}, Place{images, "images", imagefs_available}}) {
    const Disk* disk = disk_of(s.facts, place.path);
    if (!disk || disk->total_kib == 0) continue;
    const std::string evidence =
        fmt::format("{} of {} free on {}, which holds {}", base::human_bytes(disk->free_kib * 1024),
                    base::human_bytes(disk->total_kib * 1024), disk->path, place.path);
    const std::string remedy =
        fmt::format("free space, grow the disk, or mount a larger one on {}", place.path);
    if (disk->free_kib < least_kib)
      out.fail(Severity::blocker, fmt::format("no space is left for {}", place.what), evidence, remedy);
    else if (!is_under_threshold(s, place, *disk, evidence, remedy, out) && disk->free_kib < wanted_kib)
      out.fail(Severity::warning, fmt::format("little space is left for {}", place.what), evidence, remedy);
  }
}

void inodes(const Subject& s, Verdicts& out) {
  bool any = false;
  for (const char* path : {"/", "/var/lib/kubelet"}) {
    const Disk* disk = disk_of(s.facts, path);
    if (!disk || disk->inodes == 0 || (disk->path == "/" && path != disk->path)) continue;
    any = true;
    if (disk->inodes_free * 100 < disk->inodes * 5)
      out.fail(Severity::warning, "less than 5 % of the inodes are free: the kubelet evicts pods there",
               fmt::format("{} of {} free on {}", disk->inodes_free, disk->inodes, disk->path),
               "remove directories with many small files, or recreate the file system with more inodes");
  }
  if (!any) out.skip("the file systems do not count inodes");
}

void readonly_root(const Subject& s, Verdicts& out) {
  if (s.facts.storage.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  for (const char* path : {"/etc", "/var/lib/kubelet"}) {
    const Mount* mount = mount_of(s.facts, path);
    if (!mount || !has(mount->options, "ro")) continue;
    return out.fail(Severity::blocker, fmt::format("{} is read-only", path),
                    fmt::format("{} on {} is mounted read-only", mount->device, mount->path),
                    "look for disk errors in the kernel's log (dmesg), check the file system, and reboot");
  }
}

/// Overlay file systems have their own options, so images may be on a mount without exec. Bind mounts inherit
/// the option: volumes of pods are bind mounts.
void noexec_var(const Subject& s, Verdicts& out) {
  if (s.facts.storage.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  const auto check = [&](const char* path, Severity severity, const char* message) {
    const Mount* mount = mount_of(s.facts, path);
    if (mount && has(mount->options, "noexec"))
      out.fail(severity, message, fmt::format("{}: {} is mounted noexec", path, mount->path),
               fmt::format("mount -o remount,exec {} and change /etc/fstab", mount->path));
  };
  check("/opt/cni/bin", Severity::blocker, "network plugins cannot run, and no pod starts");
  check("/var/lib/kubelet", Severity::warning, "programs in pod volumes cannot run");
}

/// The same rule as path_judge in playbooks/prelude.sh, which also checks members of groups and ACLs.
void folders_owned(const Subject& s, Verdicts& out) {
  const auto& folders = s.facts.kubernetes.hardening.folders;
  if (!folders) return out.unknown("owners of directories could not be read");
  constexpr unsigned sticky = 01000, group_writes = 020, all_write = 02;
  const Severity severity = s.stage == Stage::node ? Severity::warning : Severity::blocker;
  for (const auto& [path, folder] : *folders) {
    const std::string seen = fmt::format("{:03o} {} {} {}", folder.bits, folder.user, folder.group, path);
    const bool by_group =
        (folder.bits & group_writes) != 0 && folder.group != "root" && folder.group != "staff";
    if (folder.user != "root")
      out.fail(severity,
               folder.user == "UNKNOWN" ? fmt::format("{} belongs to an unknown user", path)
                                        : fmt::format("{} belongs to {}", path, folder.user),
               seen, "chown root:root " + path);
    else if ((folder.bits & sticky) == 0 && ((folder.bits & all_write) != 0 || by_group))
      out.fail(severity,
               fmt::format("{} can write to {}",
                           (folder.bits & all_write) != 0 ? "everyone" : "the group " + folder.group, path),
               seen, "chmod go-w " + path);
  }
}

constexpr std::array disk_rows = std::to_array<Check>({
    {"host.disk.folders-owned", "system directories belong to root",
     "a user who can write to them can replace programs that root runs", "folders", preflight | node,
     folders_owned},
    {"host.disk.root-free", "there is enough disk space for pods and images",
     "the kubelet evicts pods from a full disk", "disks", preflight | node, root_free},
    {"host.disk.inodes", "there are enough free inodes", "the kubelet evicts pods when they run out", "disks",
     preflight | node, inodes},
    {"host.disk.readonly-root", "the system's file systems are writable",
     "the kernel remounts a disk with errors read-only", "/proc/mounts", preflight | node, readonly_root},
    {"sec.noexec-var", "programs can run in the directories of plugins and volumes",
     "hardened systems mount /var without exec", "/proc/mounts", preflight, noexec_var},
});

}  // namespace

std::span<const Check> disk_checks() {
  return disk_rows;
}

}  // namespace checks
