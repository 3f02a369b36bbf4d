#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

/// A systemd unit.
struct Unit {
  std::string load, active, sub, enabled;
  std::map<std::string, std::string> environment;  ///< proxy variables only
  std::map<std::string, std::string>
      limits;                             ///< LimitNOFILE, LimitNOFILESoft, LimitMEMLOCK, TasksMax, Delegate
  std::string command;                    ///< ExecStart; of container runtimes only
  std::optional<std::uint64_t> restarts;  ///< by systemd, since the last manual start or boot
  std::optional<double> since;            ///< seconds after boot when it last became active
  std::vector<std::string> log;  ///< the last lines of its journal; read only if it failed or is restarted
};

struct Package {
  std::string version;
  bool installed = false, held = false;
};

/// A process that holds a lock of the package manager.
struct PackageLock {
  std::string file, pid, program;
};

/// A line of a package repository list.
struct Repository {
  std::string file, line;
};

/// Programs, files, systemd units and packages.
struct Software {
  std::vector<std::string> tools;  ///< the installed ones of those that the probe checks
  std::map<std::string, std::string> tool_paths;
  std::map<std::string, std::string> paths;  ///< path of interest -> "file", "directory", "socket", "device"
  std::map<std::string, Unit> units;
  std::map<std::string, Package> packages;
  std::vector<PackageLock> package_locks;
  std::vector<Repository> repositories;
};

}  // namespace facts
