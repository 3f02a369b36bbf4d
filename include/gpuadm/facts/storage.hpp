#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// A file system, as seen from one path.
struct Disk {
  std::string path, type;
  std::uint64_t total_kib = 0, free_kib = 0;  ///< free: for unprivileged users
  std::uint64_t inodes = 0, inodes_free = 0;  ///< 0 and 0: the file system does not count them
};

struct Mount {
  std::string device, path, type;
  std::vector<std::string> options;
};

/// An active line of /etc/fstab.
struct FstabEntry {
  std::string device, path, type, options;
};

/// A disk, array or volume in /sys/block.
struct BlockDevice {
  std::string name;
  std::optional<bool> rotational;
  std::string volume;                     ///< name in the device mapper
  std::optional<std::uint64_t> degraded;  ///< of an array: missing members
  std::string array_state;
};

/// A drive's own report (smartctl).
struct DriveHealth {
  std::string device;
  std::optional<bool> passed;
  std::optional<std::string> critical;  ///< NVMe's critical warning, "0x00" if none
  std::optional<std::uint64_t> wear;    ///< percent of the rated writes that are used
};

/// A folder of a storage of the cluster file, or above it, itself or a link: who may replace what is in it.
struct StorageFolder {
  std::string mode;  ///< "drwx------"
  std::uint64_t uid = 0, gid = 0;
  std::string path;
};

struct Storage {
  std::vector<Disk> disks;
  std::map<std::string, std::uint64_t> free_kib;  ///< of `disks`, by path
  std::vector<Mount> mounts;
  std::vector<FstabEntry> fstab;
  std::vector<BlockDevice> block_devices;
  std::map<std::string, std::string> nvme_states;  ///< "nvme0" -> "live"
  std::vector<DriveHealth> drives;
  std::optional<bool> xfs_ftype;           ///< of /var/lib where that is XFS
  std::optional<std::string> zfs_version;  ///< of the loaded module
  std::string iscsi_initiator;
  std::optional<std::vector<StorageFolder>> folders;  ///< nothing: not read
  std::vector<std::string> multipath_rules;           ///< blacklist lines of /etc/multipath.conf
};

}  // namespace facts
