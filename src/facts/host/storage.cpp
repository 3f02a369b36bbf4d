#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

namespace facts {

namespace {

/// "/sys/block/sda/queue/rotational 1", "/sys/block/md0/md/degraded 0", "/sys/class/nvme/nvme0/state live"
void read_block_devices(const Sections& sections, Storage& storage) {
  std::map<std::string, BlockDevice, std::less<>> devices;
  for (const std::string_view line : sections.lines("sysfs")) {
    const auto words = base::words(line);
    const auto parts = base::split(words.empty() ? line : words[0], '/');
    if (words.size() != 2 || parts.size() < 6) continue;
    if (line.starts_with("/sys/class/nvme/")) storage.nvme_states.emplace(parts[4], words[1]);
    if (!line.starts_with("/sys/block/")) continue;
    BlockDevice& device = devices[std::string(parts[3])];
    device.name = std::string(parts[3]);
    const std::string_view file = parts.back();
    if (file == "rotational") device.rotational = words[1] == "1";
    if (file == "name") device.volume = std::string(words[1]);
    if (file == "degraded") device.degraded = count(words[1]);
    if (file == "array_state") device.array_state = std::string(words[1]);
  }
  for (auto& [name, device] : devices) storage.block_devices.push_back(std::move(device));
}

/// "/dev/nvme0 Percentage Used:                    3%"
void read_drives(const Sections& sections, Storage& storage) {
  for (const std::string_view line : sections.lines("smart")) {
    const std::size_t blank = line.find(' '), colon = line.find(':');
    if (blank == std::string_view::npos || colon == std::string_view::npos) continue;
    const std::string_view device = line.substr(0, blank);
    std::string value(base::trim(line.substr(colon + 1)));
    if (storage.drives.empty() || storage.drives.back().device != device)
      storage.drives.push_back({.device = std::string(device)});
    DriveHealth& drive = storage.drives.back();
    if (line.find("self-assessment") != std::string_view::npos ||
        line.find("Health Status") != std::string_view::npos)
      drive.passed = value == "PASSED" || value == "OK";
    if (line.find(" Critical Warning:") != std::string_view::npos) drive.critical = value;
    if (line.find(" Percentage Used:") != std::string_view::npos) {
      if (value.ends_with('%')) value.pop_back();
      drive.wear = count(value);
    }
  }
}

/// "/var/lib type=ext4 block=4096 blocks=… free=… inodes=… inodes_free=…"
void read_disks(const Sections& sections, Storage& storage) {
  for (const std::string_view line : sections.lines("disks")) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    auto values = pairs(line);
    const std::uint64_t block = count(values["block"]).value_or(0);
    const auto kib = [&](const std::string& blocks) {
      // In 1024ths first, so that block counts of large arrays times block size stay below 2^64.
      return count(blocks).value_or(0) / 1024 * block + count(blocks).value_or(0) % 1024 * block / 1024;
    };
    Disk disk{.path = std::string(words[0]), .type = values["type"]};
    disk.total_kib = kib(values["blocks"]);
    disk.free_kib = kib(values["free"]);
    disk.inodes = count(values["inodes"]).value_or(0);
    disk.inodes_free = count(values["inodes_free"]).value_or(0);
    if (disk.total_kib > 0) storage.free_kib[disk.path] = disk.free_kib;
    storage.disks.push_back(std::move(disk));
  }
}

void read_mounts(const Sections& sections, Storage& storage) {
  for (const std::string_view line : sections.lines("/proc/mounts")) {
    const auto words = base::words(line);
    if (words.size() < 4) continue;
    Mount mount{std::string(words[0]), std::string(words[1]), std::string(words[2]), {}};
    for (const std::string_view option : base::split(words[3], ',')) mount.options.emplace_back(option);
    storage.mounts.push_back(std::move(mount));
  }
}

/// "drwx------ 0 0 /mnt/share/gpuadm-data"
void read_folders(const Sections& sections, Storage& storage) {
  const Section* section = sections.find("storage-folders");
  if (!section || section->status != 0 || section->cut) return;
  storage.folders.emplace();
  for (const std::string_view line : section->lines) {
    const auto words = base::words(line);
    if (words.size() < 4 || words[0].size() < 10) continue;
    storage.folders->push_back({std::string(words[0]), count(words[1]).value_or(~0ULL),
                                count(words[2]).value_or(~0ULL),
                                std::string(line.substr(line.find(" /") + 1))});
  }
}

}  // namespace

void read_storage(const Sections& sections, Facts& facts) {
  for (const auto& [path, value] : sections.values("sysfs"))
    if (path == "/sys/module/zfs/version") facts.storage.zfs_version = std::string(value);
  read_disks(sections, facts.storage);
  read_mounts(sections, facts.storage);
  read_block_devices(sections, facts.storage);
  read_drives(sections, facts.storage);
  read_folders(sections, facts.storage);
  for (const std::string_view line : sections.lines("/etc/fstab"))
    if (const auto words = base::words(line); words.size() > 3 && !words[0].starts_with('#'))
      facts.storage.fstab.push_back(
          {std::string(words[0]), std::string(words[1]), std::string(words[2]), std::string(words[3])});
  if (const Section* xfs = sections.find("xfs"); xfs && xfs->status == 0)
    for (const std::string_view line : xfs->lines)
      if (const std::size_t at = line.find("ftype="); at != std::string_view::npos)
        facts.storage.xfs_ftype = line.substr(at + 6, 1) == "1";
  facts.storage.iscsi_initiator =
      assignments(sections.text("/etc/iscsi/initiatorname.iscsi").value_or(""))["InitiatorName"];
  for (const std::string_view line : sections.lines("/etc/multipath.conf"))
    facts.storage.multipath_rules.emplace_back(base::trim(line));
}

namespace {

Tree disk(const Disk& d) {
  return Tree::map_of({{"path", d.path},
                       {"type", d.type},
                       {"totalKib", d.total_kib},
                       {"freeKib", d.free_kib},
                       {"inodes", d.inodes},
                       {"inodesFree", d.inodes_free}});
}

Tree mount(const Mount& m) {
  return Tree::map_of(
      {{"device", m.device}, {"path", m.path}, {"type", m.type}, {"options", Tree::list_of(m.options)}});
}

Tree entry(const FstabEntry& e) {
  return Tree::map_of({{"device", e.device}, {"path", e.path}, {"type", e.type}, {"options", e.options}});
}

Tree block_device(const BlockDevice& b) {
  return Tree::map_of({{"name", b.name},
                       {"rotational", tree_of(b.rotational)},
                       {"volume", b.volume},
                       {"degraded", tree_of(b.degraded)},
                       {"arrayState", b.array_state}});
}

Tree drive(const DriveHealth& d) {
  return Tree::map_of({{"device", d.device},
                       {"passed", tree_of(d.passed)},
                       {"critical", tree_of(d.critical)},
                       {"wear", tree_of(d.wear)}});
}

Tree storage_folder(const StorageFolder& f) {
  return Tree::map_of({{"mode", f.mode}, {"uid", f.uid}, {"gid", f.gid}, {"path", f.path}});
}

}  // namespace

Tree storage_tree(const Facts& f) {
  Tree tree = Tree::map_of({{"fstab", list_of(f.storage.fstab, entry)},
                            {"blockDevices", list_of(f.storage.block_devices, block_device)},
                            {"nvme", map_of(f.storage.nvme_states)},
                            {"drives", list_of(f.storage.drives, drive)},
                            {"xfsFtype", tree_of(f.storage.xfs_ftype)},
                            {"zfsVersion", tree_of(f.storage.zfs_version)},
                            {"iscsiInitiator", f.storage.iscsi_initiator},
                            {"multipathRules", Tree::list_of(f.storage.multipath_rules)},
                            {"etcdFsync", tree_of(f.kubernetes.etcd_fsync)},
                            {"etcdCommit", tree_of(f.kubernetes.etcd_commit)}});
  if (f.storage.folders) tree.set("folders", list_of(*f.storage.folders, storage_folder));
  return tree;
}

Tree disks_tree(const Storage& storage) {
  return list_of(storage.disks, disk);
}

Tree mounts_tree(const Storage& storage) {
  return list_of(storage.mounts, mount);
}

}  // namespace facts
