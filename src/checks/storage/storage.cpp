#include "gpuadm/spec/storage.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

/// etcd.io FAQ: 99th percentile of 10 ms and 25 ms.
constexpr double slow_fsync = 0.010, slow_commit = 0.025;

void etcd_latency(const Subject& s, Verdicts& out) {
  if (!has(s.facts.kubernetes.manifests, "etcd.yaml"))
    return out.skip("etcd does not run on this host as a static pod");
  if (!s.facts.kubernetes.etcd_fsync)
    return out.unknown("etcd's metrics on port 2381 could not be read, or etcd has too few writes");
  const double commit = s.facts.kubernetes.etcd_commit.value_or(0);
  const std::string evidence = fmt::format("99th percentile {:.1f} ms (log), {:.1f} ms (database)",
                                           *s.facts.kubernetes.etcd_fsync * 1000, commit * 1000);
  if (*s.facts.kubernetes.etcd_fsync > slow_fsync || commit > slow_commit)
    return out.fail(
        Severity::warning, "the disk is too slow for etcd", evidence,
        "move /var/lib/etcd to its own local SSD, or stop other programs that write to that disk");
  out.pass(evidence);
}

/// The disk of a mounted device: /dev/sda2 on sda, /dev/mapper/vg-root on dm-0.
const facts::BlockDevice* block_device_of(const facts::Facts& facts, const std::string& device) {
  const std::string name = device.substr(device.rfind('/') + 1);
  const facts::BlockDevice* best = nullptr;
  for (const facts::BlockDevice& block : facts.storage.block_devices) {
    if (device.starts_with("/dev/mapper/") ? block.volume != name : !name.starts_with(block.name)) continue;
    if (!best || block.name.size() > best->name.size()) best = &block;
  }
  return best;
}

void disk_type(const Subject& s, Verdicts& out) {
  if (!is_bare_metal(s.facts))
    return out.skip("the host is not known to be bare metal; the type of a virtual disk is not visible");
  std::vector<std::string> slow;
  bool any = false;
  for (const std::string& path : {std::string(is_control_plane(s) ? "/var/lib/etcd" : ""), images_root(s)}) {
    const facts::Mount* mount = path.empty() ? nullptr : mount_of(s.facts, path);
    const facts::BlockDevice* device = mount ? block_device_of(s.facts, mount->device) : nullptr;
    if (!device || !device->rotational) continue;
    any = true;
    if (*device->rotational) slow.push_back(fmt::format("{} on {}", path, device->name));
  }
  if (!any) return out.unknown("the disks of images and etcd could not be read");
  if (!slow.empty())
    out.fail(Severity::note, "etcd or images are on a rotating disk, which is slow", list(slow),
             "mount an SSD on that directory");
}

void overlay_dtype(const Subject& s, Verdicts& out) {
  const facts::Disk* disk = disk_of(s.facts, images_root(s));
  if (!disk) return out.unknown("the file system of images could not be read");
  if (disk->type != "xfs") return out.skip("images are not on XFS");
  if (!s.facts.storage.xfs_ftype) return out.unknown("xfs_info is not on this host");
  if (!*s.facts.storage.xfs_ftype)
    out.fail(Severity::blocker, "this XFS file system cannot store container images",
             fmt::format("ftype=0 on {}", disk->path),
             fmt::format("mount another file system on {}, made with mkfs.xfs -n ftype=1 or mkfs.ext4",
                         images_root(s)));
}

/// By `stat -f`.
bool is_network_type(const std::string& type) {
  return type.starts_with("nfs") || type == "smb2" || type == "cifs" || type == "ceph" || type == "lustre" ||
         type == "gpfs";
}

/// Whether the runtime has tried overlay file systems there, or the version of ZFS has them (2.2).
bool overlay_works(const Subject& s) {
  const auto& containerd = s.facts.runtime.containerd;
  if (uses(s, spec::Engine::containerd) && containerd && containerd->overlay_status)
    return *containerd->overlay_status == "ok";
  const auto& docker = s.facts.runtime.docker;
  if (uses(s, spec::Engine::docker) && docker && docker->storage_driver.starts_with("overlay")) return true;
  const auto version = base::Version::parse(s.facts.storage.zfs_version.value_or(""));
  return version && *version >= base::Version{2, 2, -1};
}

void fs_supported(const Subject& s, Verdicts& out) {
  const std::string root = images_root(s);
  const facts::Disk* disk = disk_of(s.facts, root);
  if (!disk || disk->type.empty() || disk->type.starts_with("UNKNOWN"))
    return out.unknown("the file system of images could not be read");
  if (disk->type.starts_with("ext") || disk->type == "xfs") return out.pass(disk->type);
  const std::string evidence = fmt::format("{} is on {}", root, disk->type);
  if (disk->type == "btrfs" || disk->type == "zfs") {
    const std::string& dump = s.facts.runtime.containerd && s.facts.runtime.containerd->dump
                                  ? *s.facts.runtime.containerd->dump
                                  : std::string();
    const std::string& driver =
        s.facts.runtime.docker ? s.facts.runtime.docker->storage_driver : std::string();
    for (const char quote : {'"', '\''})
      if (dump.find(fmt::format("snapshotter = {}{}{}", quote, disk->type, quote)) != std::string::npos)
        return out.pass(evidence + ", as its snapshotter");
    if (driver == disk->type || disk->type == "btrfs") return out.pass(evidence);
    if (overlay_works(s)) return out.pass(evidence + ", which supports overlay file systems");
    return out.fail(
        Severity::warning, "overlay file systems need ZFS 2.2 or newer", evidence,
        "set snapshotter = \"zfs\" in containerd's configuration, or mount ext4 or XFS on that directory");
  }
  out.fail(Severity::warning, "this file system is not suitable for images", evidence,
           fmt::format("mount ext4 or XFS on {}", root));
}

void nfs(const Subject& s, Verdicts& out) {
  for (const std::string& path :
       {std::string("/var/lib/kubelet"), images_root(s), std::string("/var/lib/etcd")})
    if (const facts::Disk* disk = disk_of(s.facts, path); disk && is_network_type(disk->type))
      return out.fail(Severity::warning, fmt::format("{} is on a network file system", path),
                      fmt::format("{} on {}", disk->type, disk->path),
                      fmt::format("mount a local disk on {}", path));
  if (s.facts.storage.disks.empty()) return out.unknown("the file systems could not be read");
  if (!has(s.facts.software.tools, "mount.nfs"))
    return out.skip("no NFS client is installed; only volumes on NFS need it");
  out.pass("an NFS client is installed, and no directory of Kubernetes is on NFS");
}

void iscsi(const Group& group, Verdicts& out) {
  std::map<std::string, std::set<std::string>> holders;
  for (const auto& [name, facts] : group.hosts)
    if (!facts->storage.iscsi_initiator.empty()) holders[facts->storage.iscsi_initiator].insert(name);
  if (holders.empty()) return out.skip("no host has an iSCSI initiator");
  for (const auto& [name, hosts] : holders)
    if (hosts.size() > 1)
      out.fail(Severity::warning, fmt::format("{} hosts have the same iSCSI initiator name", hosts.size()),
               fmt::format("{}: {}", name, list({hosts.begin(), hosts.end()})),
               "on all but one: echo InitiatorName=$(iscsi-iname) > /etc/iscsi/initiatorname.iscsi && "
               "systemctl restart iscsid");
}

void multipathd(const Subject& s, Verdicts& out) {
  if (!is_active(s.facts, "multipathd.service")) return out.skip("multipathd does not run");
  if (s.facts.storage.multipath_rules.empty())
    out.fail(
        Severity::note, "multipathd may claim disks that storage plugins attach",
        "no blacklist in /etc/multipath.conf",
        "add to /etc/multipath.conf: blacklist { devnode \"^sd[a-z0-9]+\" } if no disk has two paths, then: "
        "systemctl restart multipathd; or: systemctl disable --now multipathd.socket multipathd");
}

/// The probe lists mounts of devices and servers up to this depth.
bool is_listed(const facts::FstabEntry& entry) {
  const bool device = entry.device.starts_with("/dev/") || entry.device.find('=') != std::string::npos ||
                      entry.device.find(":/") != std::string::npos;
  return device && entry.path.starts_with('/') && entry.type != "swap" &&
         std::ranges::count(entry.path, '/') <= 3;
}

void mount_missing(const Subject& s, Verdicts& out) {
  if (s.facts.storage.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  if (s.facts.os.container.value_or("none") != "none")
    return out.skip("a container's mounts are set by its host");
  for (const facts::FstabEntry& entry : s.facts.storage.fstab) {
    const auto options = base::split(entry.options, ',');
    const auto said = [&](std::string_view option) {
      return std::ranges::find(options, option) != options.end();
    };
    if (!is_listed(entry) || said("noauto") || said("x-systemd.automount")) continue;
    if (std::ranges::find(s.facts.storage.mounts, entry.path, &facts::Mount::path) ==
        s.facts.storage.mounts.end())
      out.fail(Severity::warning, fmt::format("{} is in /etc/fstab but not mounted", entry.path),
               fmt::format("{} {}", entry.device, entry.type),
               fmt::format("mount {}, and read its message; or: systemctl status \"$(systemd-escape -p "
                           "--suffix=mount {})\"",
                           entry.path, entry.path));
  }
}

/// Storage of the cluster file that gpuadm mounts.
void storage_mounted(const Subject& s, Verdicts& out) {
  const auto is_ours = [](const spec::Storage& storage) { return spec::is_mounted(storage.kind); };
  if (std::ranges::none_of(s.cluster.storage, is_ours))
    return out.not_applicable("the cluster file has no storage that gpuadm mounts");
  if (s.facts.storage.mounts.empty()) return out.unknown("/proc/mounts could not be read");
  for (const spec::Storage& storage : s.cluster.storage) {
    if (!is_ours(storage)) continue;
    const std::string place = spec::place_of(storage);
    const auto mount = std::ranges::find(s.facts.storage.mounts, place, &facts::Mount::path);
    const std::string remedy = fmt::format(
        "gpuadm apply -f FILE mounts it; what failed: journalctl -u \"$(systemd-escape -p --suffix=mount "
        "{})\"",
        place);
    const auto asked = base::split(storage.options, ',');
    if (mount == s.facts.storage.mounts.end())
      out.fail(Severity::warning, fmt::format("the storage {} is not mounted", storage.name),
               fmt::format("{} on {}", spec::source_of(storage), place), remedy);
    else if (has(mount->options, "ro") && std::ranges::find(asked, "ro") == asked.end())
      out.fail(Severity::warning, fmt::format("the storage {} is mounted read-only", storage.name),
               fmt::format("{} on {}", mount->device, place), remedy);
  }
}

void same_fs(const Subject& s, Verdicts& out) {
  if (!s.facts.software.paths.contains("/var/lib/nvidia-docker"))
    return out.skip("nvidia-docker 1 is not installed");
  const facts::Mount *usr = mount_of(s.facts, "/usr"), *var = mount_of(s.facts, "/var/lib/nvidia-docker");
  if (!usr || !var) return out.unknown("/proc/mounts could not be read");
  if (usr->path != var->path)
    out.fail(Severity::warning, "nvidia-docker 1 cannot link the driver's files across file systems",
             fmt::format("/usr is on {}, /var/lib/nvidia-docker on {}", usr->path, var->path),
             "remove nvidia-docker 1 (@purge@ nvidia-docker) and use the NVIDIA Container Toolkit");
}

constexpr std::array storage_rows = std::to_array<Check>({
    {"st.etcd-metrics-latency", "the disk is fast enough for etcd", "etcd loses its leader on a slow disk",
     "etcd-metrics /etc/kubernetes/manifests/", node, etcd_latency},
    {"st.disk-type-scheduler", "etcd and images are on SSDs", "etcd waits for every write",
     "sysfs /proc/mounts virtualization", preflight, disk_type},
    {"st.overlay-dtype", "the file system of images stores file types", "overlay file systems need it",
     "xfs disks /proc/mounts", preflight, overlay_dtype},
    {"st.fs-supported", "images are on a suitable file system", "overlay does not work on every file system",
     "disks /proc/mounts containerd-plugins docker-info", preflight | node, fs_supported},
    {"st.nfs-client", "no directory of Kubernetes is on a network file system",
     "locks and sockets do not work on it", "disks /proc/mounts tools", preflight | node, nfs},
    {"st.multipathd", "multipathd does not claim new disks", "a volume that it claims cannot be mounted",
     "units /etc/multipath.conf", preflight | node, multipathd},
    {"st.mount-missing", "all file systems of /etc/fstab are mounted",
     "otherwise data is written to the parent file system", "/etc/fstab /proc/mounts", preflight | node,
     mount_missing},
    {"st.storage-mounted", "storage of the cluster file is mounted",
     "pods with claims on it wait until it is", "/proc/mounts", node, storage_mounted},
    {"host.disk.var-usr-same-fs", "nvidia-docker 1 can link the driver's files",
     "links do not cross file systems", "/proc/mounts paths packages", preflight, same_fs},
    {"st.iscsi", "iSCSI initiator names are unique", "two hosts with the same name share a session",
     "/etc/iscsi/initiatorname.iscsi", preflight | node, nullptr, iscsi},
});

}  // namespace

std::span<const Check> storage_checks() {
  return storage_rows;
}

}  // namespace checks
