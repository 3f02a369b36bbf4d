#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// A systemd unit the probe asked for.
struct Unit {
  std::string load, active, sub, enabled;
  std::map<std::string, std::string> environment;  ///< proxy variables only
  std::map<std::string, std::string> limits;       ///< LimitNOFILE, LimitMEMLOCK, TasksMax, Delegate
  std::string command;                    ///< what it starts, with arguments; of container runtimes only
  std::optional<std::uint64_t> restarts;  ///< by systemd, since it was started by hand or at boot
  std::optional<double> since;            ///< seconds after boot at which it became active last
};

struct Package {
  std::string version;
  bool installed = false, held = false;
};

/// Who holds a lock of the package manager.
struct PackageLock {
  std::string file, pid, program;
};

/// A line of a package repository list.
struct Repository {
  std::string file, line;
};

/// Programs, files, services and packages.
struct Software {
  std::vector<std::string> tools;  ///< of the ones asked for, those that exist
  std::map<std::string, std::string> tool_paths;
  std::map<std::string, std::string> paths;  ///< path of interest -> "file", "directory", "socket", "device"
  std::map<std::string, Unit> units;
  std::map<std::string, Package> packages;
  std::vector<PackageLock> package_locks;
  std::vector<Repository> repositories;
};

}  // namespace facts
