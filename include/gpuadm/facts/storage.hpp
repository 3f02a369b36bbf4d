#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// A file system as seen from one path.
struct Disk {
  std::string path, type;
  std::uint64_t total_kib = 0, free_kib = 0;  ///< free: to ordinary users
  std::uint64_t inodes = 0, inodes_free = 0;  ///< 0 and 0: the file system does not count them
};

struct Mount {
  std::string device, path, type;
  std::vector<std::string> options;
};

/// A line of /etc/fstab that is in force.
struct FstabEntry {
  std::string device, path, type, options;
};

/// A disk, array or volume as /sys/block has it.
struct BlockDevice {
  std::string name;
  std::optional<bool> rotational;
  std::string volume;                     ///< of the device mapper: its name
  std::optional<std::uint64_t> degraded;  ///< of an array: members that are missing
  std::string array_state;
};

/// What a drive says of itself (smartctl).
struct DriveHealth {
  std::string device;
  std::optional<bool> passed;
  std::optional<std::string> critical;  ///< NVMe's critical warning, "0x00" where there is none
  std::optional<std::uint64_t> wear;    ///< percent of the planned writes that are used up
};

struct Storage {
  std::vector<Disk> disks;
  std::map<std::string, std::uint64_t> free_kib;  ///< of `disks`, by path
  std::vector<Mount> mounts;
  std::vector<FstabEntry> fstab;
  std::vector<BlockDevice> block_devices;
  std::map<std::string, std::string> nvme_states;  ///< "nvme0" -> "live"
  std::vector<DriveHealth> drives;
  std::optional<bool> xfs_ftype;  ///< of /var/lib where that is XFS
  std::string iscsi_initiator;
  std::vector<std::string> multipath_rules;  ///< blacklist lines of /etc/multipath.conf
};

}  // namespace facts
