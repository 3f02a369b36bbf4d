#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

enum class CgroupVersion { v1, v2, hybrid };

struct SwapArea {
  std::string path, type;
  std::uint64_t kib = 0;
};

/// A process in uninterruptible sleep (D) or a zombie (Z).
struct Process {
  int pid = 0;
  std::string name;
  char state = 0;
  std::optional<double> age;  ///< seconds since it started
  /// Root's outside of pods, containers and slices of users, or a service of NVIDIA. Nothing: not recorded.
  std::optional<bool> system;
};

/// Free memory of a zone: blocks of 2^index pages.
struct FreeBlocks {
  int node = 0;
  std::string zone;
  std::vector<std::uint64_t> orders;
};

/// A line of the kernel's log.
struct LogLine {
  double seconds = 0;  ///< after boot
  std::string text;
  bool severe = false;  ///< its priority is err or above; false: lower, or not known
};

/// The running kernel: its features, settings, processes and log.
struct Kernel {
  std::string release;   ///< "6.8.0-45-generic"
  std::string compiler;  ///< version of the gcc that built it
  std::optional<std::string> command_line;
  std::optional<std::map<std::string, std::string>> config;  ///< relevant options that are set
  std::vector<std::string> modules, modules_builtin, modules_loadable;
  std::map<std::string, std::string> sysctls;
  CgroupVersion cgroup = CgroupVersion::v2;
  std::vector<std::string> controllers;
  std::optional<std::vector<SwapArea>> swap;
  std::vector<std::string> swap_fstab;  ///< active swap lines of /etc/fstab
  bool zram_generator = false;
  std::map<std::uint64_t, std::uint64_t> huge_pages;  ///< KiB of a page -> how many are reserved
  std::vector<FreeBlocks> free_blocks;
  std::optional<double> uptime;          ///< seconds since boot
  std::optional<std::uint64_t> threads;  ///< of all processes
  std::optional<std::vector<Process>> stuck;
  std::optional<std::vector<LogLine>> log;  ///< the first line, then the newest 300 relevant ones
  std::optional<std::vector<std::string>> crash_records;  ///< records of kernel crashes in pstore
};

}  // namespace facts
