#include "gpuadm/base/text.hpp"

#include "checks/see.hpp"

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
  const char* path;
  const char* what;
  int percent;  ///< the kubelet's default eviction threshold: nodefs 10 %, imagefs 15 %
};

void root_free(const Subject& s, Verdicts& out) {
  if (s.facts.disks.empty()) return out.unknown("free space could not be read");
  const char* images = uses(s, spec::Engine::docker) ? "/var/lib/docker" : "/var/lib/containerd";
  for (const Place& place : {Place{"/var/lib/kubelet", "pods", 10}, Place{images, "images", 15}}) {
    const Disk* disk = disk_of(s.facts, place.path);
    if (!disk || disk->total_kib == 0) continue;
    const std::string evidence =
        fmt::format("{} of {} free on {}, which holds {}", base::human_bytes(disk->free_kib * 1024),
                    base::human_bytes(disk->total_kib * 1024), disk->path, place.path);
    const std::string remedy =
        fmt::format("free space, grow the disk, or mount a larger one on {}", place.path);
    if (disk->free_kib < least_kib)
      out.fail(Severity::blocker, fmt::format("no room for {}", place.what), evidence, remedy);
    else if (disk->free_kib * 100 < disk->total_kib * static_cast<std::uint64_t>(place.percent))
      out.fail(Severity::warning,
               fmt::format("less than {} % is free for {}: the kubelet evicts pods there", place.percent,
                           place.what),
               evidence, remedy);
    else if (disk->free_kib < wanted_kib)
      out.fail(Severity::warning, fmt::format("little room for {}", place.what), evidence, remedy);
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
               "remove what has many small files, or make the file system anew with more inodes");
  }
  if (!any) out.skip("the file systems do not count inodes");
}

void readonly_root(const Subject& s, Verdicts& out) {
  if (s.facts.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  for (const char* path : {"/etc", "/var/lib/kubelet"}) {
    const Mount* mount = mount_of(s.facts, path);
    if (!mount || !has(mount->options, "ro")) continue;
    return out.fail(Severity::blocker, fmt::format("{} cannot be written", path),
                    fmt::format("{} on {} is mounted read-only", mount->device, mount->path),
                    "read the kernel's log for disk errors (dmesg), check the file system, reboot");
  }
}

/// Overlay file systems have options of their own, so images may lie on a mount without exec. Bind mounts
/// take the option over: volumes of pods are such.
void noexec_var(const Subject& s, Verdicts& out) {
  if (s.facts.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  const auto look = [&](const char* path, Severity severity, const char* says) {
    const Mount* mount = mount_of(s.facts, path);
    if (mount && has(mount->options, "noexec"))
      out.fail(severity, says, fmt::format("{}: {} is mounted noexec", path, mount->path),
               fmt::format("mount -o remount,exec {} and change /etc/fstab", mount->path));
  };
  look("/opt/cni/bin", Severity::blocker, "network plugins may not run: no pod starts");
  look("/var/lib/kubelet", Severity::warning, "programs in volumes of pods may not run");
}

constexpr std::array rows = std::to_array<Check>({
    {"host.disk.root-free", "there is room for pods and images", "the kubelet evicts pods from a full disk",
     preflight | node, root_free},
    {"host.disk.inodes", "there are inodes enough", "the kubelet evicts pods where they run out",
     preflight | node, inodes},
    {"host.disk.readonly-root", "the system's file systems can be written",
     "a disk with errors is mounted read-only by the kernel", preflight | node, readonly_root},
    {"sec.noexec-var", "programs may run where plugins and volumes lie",
     "hardened systems mount /var without exec", preflight, noexec_var},
});

}  // namespace

std::span<const Check> disk_checks() {
  return rows;
}

}  // namespace checks
