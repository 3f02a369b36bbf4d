#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace facts {

struct Containerd {
  std::string version;
  std::optional<std::string> config;  ///< text of /etc/containerd/config.toml; nothing: no such file
  std::optional<std::string> dump;    ///< `containerd config dump`
  bool socket = false;
  std::optional<bool> cri_disabled;                  ///< by the effective disabled_plugins
  std::vector<std::string> drop_ins;                 ///< files under /etc/containerd/conf.d
  std::map<std::string, std::string> drop_in_texts;  ///< of those, and of what config.toml imports
  std::string error;                                 ///< error of `containerd config dump`
  bool dump_stopped = false;                         ///< `containerd config dump` timed out
  std::optional<int> config_version;                 ///< of config.toml; 1 if it has none
  std::optional<std::string> cri_status;  ///< of the CRI plugin in the running daemon: "ok", "error", "skip"
  std::optional<std::string> overlay_status;  ///< of the overlayfs snapshotter, likewise
  std::optional<std::string> sandbox_image;
  std::map<std::string, bool> runtimes;  ///< runtime -> its SystemdCgroup
  std::string default_runtime, root;
  std::optional<bool> enable_cdi;         ///< nothing: not in the dump
  std::vector<std::string> cdi_dirs;      ///< cdi_spec_dirs
  std::vector<std::string> loaded_files;  ///< `imports` of the dump: every file that containerd reads
  std::string registry_config_path;
  std::vector<std::string> old_mirrors;  ///< registries under registry.mirrors
};

/// Of CRI-O's configuration files, in the order they are read.
struct CrioConfig {
  std::string cgroup_manager, default_runtime;
  std::vector<std::string> runtimes;
  std::string error;
  std::map<std::string, std::string> texts;  ///< by path
};

struct Docker {
  std::string version;
  std::optional<std::string> daemon_json;
  bool socket = false;
  std::optional<std::string> cgroup_driver;
  std::string default_runtime, storage_driver, root;
};

/// Container runtimes.
struct Runtimes {
  std::vector<std::string> sockets;  ///< existing CRI sockets of the known paths
  std::optional<Containerd> containerd;
  std::optional<Docker> docker;
  std::optional<std::string> crio, runc;  ///< versions
  std::optional<CrioConfig> crio_config;
  std::optional<std::string> crictl_endpoint;  ///< of /etc/crictl.yaml; empty: not set
};

}  // namespace facts
