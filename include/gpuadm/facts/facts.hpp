#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What is on a host, typed; nothing about good or bad.
/// std::optional = could not be read; an empty list = read, and there are none.
namespace facts {

using base::Result;

enum class Family { debian, redhat, suse, other };
enum class CgroupVersion { v1, v2, hybrid };

// --- The machine -------------------------------------------------------------------------------------

struct Os {
  std::string id, version_id, codename, pretty;  ///< /etc/os-release
  Family family = Family::other;
  std::string architecture;                   ///< uname -m
  std::string init;                           ///< name of process 1
  std::optional<std::string> container;       ///< systemd-detect-virt -c, "none" where there is none
  std::optional<std::string> virtualization;  ///< systemd-detect-virt, "none" on bare metal
};

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

struct SwapArea {
  std::string path, type;
  std::uint64_t kib = 0;
};

/// A systemd unit the probe asked for.
struct Unit {
  std::string load, active, sub, enabled;
  std::map<std::string, std::string> environment;  ///< proxy variables only
  std::map<std::string, std::string> limits;       ///< LimitNOFILE, LimitMEMLOCK, TasksMax, Delegate
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

// --- Network -----------------------------------------------------------------------------------------

struct Listener {
  int port = 0;
  std::string address, process;
};

struct Link {
  std::string name, mac, state;
  int mtu = 0;
  bool physical = false;  ///< has a device behind it
};

struct Address {
  std::string link, cidr;  ///< "eth0", "192.0.2.2/24"
  bool global = false;
};

struct Route {
  std::string destination;  ///< CIDR; "0.0.0.0/0" and "::/0" are the default routes
  std::string link, gateway, source;
  int metric = 0;
};

struct Resolver {
  std::vector<std::string> nameservers, search;
};

struct Firewall {
  std::optional<std::string> iptables;     ///< version
  std::string backend;                     ///< of iptables: "nf_tables" or "legacy"; empty: not known
  std::vector<std::string> legacy_tables;  ///< tables of the legacy backend in the kernel
  std::optional<bool> ufw;                 ///< enabled in /etc/ufw/ufw.conf
  std::string ufw_forward;                 ///< DEFAULT_FORWARD_POLICY
};

// --- NVIDIA ------------------------------------------------------------------------------------------

/// One NVIDIA device of class 0300 or 0302 on the PCI bus.
struct PciGpu {
  std::string slot;       ///< 0000:00:06.0
  std::string device_id;  ///< "2335", lower case
  std::string subsystem;  ///< "10de:18bf"
  std::string pci_class;  ///< "0302"
  std::string driver;     ///< bound kernel driver, or empty
};

/// One GPU as nvidia-smi lists it.
struct Gpu {
  int index = 0;
  std::string uuid, name, bus_id;  ///< bus_id as in PciGpu::slot
  std::optional<std::uint64_t> memory_mib;
  std::optional<std::string> compute_capability, persistence, mig;
  std::optional<std::string> architecture, mig_pending, compute_mode, recovery_action;
};

struct Driver {
  std::string version;  ///< of the loaded kernel module, else what nvidia-smi says
  std::optional<bool> open_modules;
  std::optional<std::string> cuda;     ///< what nvidia-smi says it supports
  std::optional<std::string> library;  ///< version of libnvidia-ml.so.1
};

// --- Container runtimes and Kubernetes ---------------------------------------------------------------

struct Containerd {
  std::string version;
  std::optional<std::string> config;  ///< text of /etc/containerd/config.toml; nothing: there is no such file
  std::optional<std::string> dump;    ///< `containerd config dump`
  bool socket = false;
  std::optional<bool> cri_disabled;   ///< by disabled_plugins in force
  std::vector<std::string> drop_ins;  ///< files under /etc/containerd/conf.d
  std::map<std::string, std::string> drop_in_texts;
  std::string error;                      ///< what `containerd config dump` says where it fails
  std::optional<int> config_version;      ///< of config.toml; 1 where it names none
  std::optional<std::string> cri_status;  ///< of the CRI plugin in the running daemon: "ok", "error", "skip"
  std::optional<std::string> sandbox_image;
  std::map<std::string, bool> runtimes;  ///< runtime -> its SystemdCgroup
  std::string default_runtime, root;
  std::optional<bool> enable_cdi;         ///< nothing: the dump does not say
  std::vector<std::string> cdi_dirs;      ///< cdi_spec_dirs
  std::vector<std::string> loaded_files;  ///< `imports` of the dump: every file that was read
  std::string registry_config_path;
  std::vector<std::string> old_mirrors;  ///< registries under registry.mirrors
};

/// Of CRI-O's configuration files, in the order they are read.
struct CrioConfig {
  std::string cgroup_manager, default_runtime;
  std::vector<std::string> runtimes;
  std::string error;
};

/// A CDI specification on the host.
struct CdiSpec {
  std::string file, kind;             ///< "nvidia.com/gpu"
  std::vector<std::string> devices;   ///< "0", "GPU-…", "all"
  std::vector<std::string> versions;  ///< of the driver libraries it mounts
};

/// The NVIDIA Container Toolkit's own configuration and word.
struct Toolkit {
  std::optional<base::Tree> config;  ///< /etc/nvidia-container-runtime/config.toml
  std::string config_error;
  std::optional<int> cli_status;  ///< of `nvidia-container-cli info`
  std::string cli_says;           ///< where it failed
  std::vector<CdiSpec> cdi;
};

/// A certificate and when it ends, seconds since 1970.
struct Certificate {
  std::string path;
  double ends = 0;
};

struct Docker {
  std::string version;
  std::optional<std::string> daemon_json;
  bool socket = false;
  std::optional<std::string> cgroup_driver;
  std::string default_runtime, storage_driver, root;
};

struct KubernetesTools {
  std::optional<std::string> kubeadm, kubelet, kubectl;  ///< versions, "v1.20.2"
  bool admin_conf = false;                               ///< /etc/kubernetes/admin.conf
  bool kubelet_conf = false;                             ///< /etc/kubernetes/kubelet.conf
  std::vector<std::string> manifests, cni_configs, cni_binaries;
  bool etcd_data = false;                    ///< /var/lib/etcd is not empty
  bool bootstrap_conf = false, ca = false;   ///< bootstrap-kubelet.conf, pki/ca.crt
  std::string admin_server, kubelet_server;  ///< `server:` of the two kubeconfigs
  std::optional<base::Tree> kubelet_config;  ///< /var/lib/kubelet/config.yaml, where it parses
  std::string kubelet_config_error;
  std::string kubelet_flags;                               ///< KUBELET_KUBEADM_ARGS and KUBELET_EXTRA_ARGS
  std::optional<std::vector<std::string>> device_plugins;  ///< names in /var/lib/kubelet/device-plugins
  std::optional<std::vector<Certificate>> certificates;
  std::vector<std::string> kubelet_log;                ///< last lines, where the kubelet does not run
  std::optional<std::string> cpu_state, memory_state;  ///< policies in the kubelet's checkpoint files
  std::optional<bool> shared_mount;                    ///< /var/lib/kubelet lies on a shared mount
};

// --- All of it ---------------------------------------------------------------------------------------

struct Facts {
  std::string hostname, fqdn, machine_id, product_uuid, vendor, product;
  std::vector<std::string> macs;  ///< of physical links
  Os os;
  std::string kernel;
  int cpus = 0;
  std::optional<std::uint64_t> memory_kib;
  std::optional<double> clock_offset;      ///< seconds this host is ahead of us: see place_clock()
  std::optional<double> clock, clock_end;  ///< this host's time when the probe began and ended
  std::optional<bool> clock_synchronized;
  CgroupVersion cgroup = CgroupVersion::v2;
  std::vector<std::string> controllers;
  std::optional<std::vector<SwapArea>> swap;
  std::vector<std::string> swap_fstab;  ///< swap lines of /etc/fstab that are in force
  bool zram_generator = false;
  std::vector<std::string> modules, modules_builtin, modules_loadable;
  std::optional<std::map<std::string, std::string>> kernel_config;  ///< options of interest that are set
  std::map<std::string, std::string> sysctls;
  std::optional<std::vector<Listener>> listeners;
  std::vector<Link> links;
  std::map<std::string, std::string> addresses;  ///< interface -> address/prefix (first global IPv4)
  std::vector<Address> all_addresses;
  std::string default_address;      ///< source address of the default route, or of the first global one
  std::vector<std::string> routes;  ///< destinations, CIDR
  std::vector<Route> route_table;   ///< the same with everything else, default routes included
  std::optional<std::vector<std::string>> resolves;  ///< addresses that the host's own name resolves to
  std::optional<Resolver> resolver;                  ///< /etc/resolv.conf
  std::optional<Resolver> real_resolver;             ///< behind systemd-resolved
  std::map<std::string, std::string> environment;    ///< proxy variables of the login and /etc/environment
  std::map<std::string, std::uint64_t> disk_free_kib;
  std::vector<Disk> disks;
  std::vector<Mount> mounts;
  std::vector<std::string> tools;  ///< of the ones asked for, those that exist
  std::map<std::string, std::string> tool_paths;
  std::map<std::string, std::string> paths;  ///< path of interest -> "file", "directory", "socket", "device"
  std::map<std::string, Unit> units;
  std::map<std::string, Package> packages;
  std::vector<PackageLock> package_locks;
  std::vector<Repository> repositories;
  Firewall firewall;
  std::optional<std::string> selinux;  ///< "enforcing", "permissive"; nothing: no SELinux in force
  std::optional<bool> apparmor;
  std::optional<Containerd> containerd;
  std::optional<Docker> docker;
  std::optional<std::string> crio, runc, nvidia_ctk;  ///< versions
  std::optional<CrioConfig> crio_config;
  std::optional<std::string> crictl_endpoint;  ///< of /etc/crictl.yaml; empty: it names none
  Toolkit toolkit;
  std::optional<std::string> device_label;  ///< SELinux type of /dev/nvidia0
  std::vector<std::string> cri_sockets;     ///< of the known places, those that are there
  KubernetesTools kubernetes;
  std::vector<PciGpu> pci_gpus;
  std::optional<Driver> driver;
  std::optional<std::string> driver_installed;  ///< version of the module on disk for this kernel
  std::vector<std::string> driver_libraries;    ///< paths of libnvidia-ml and libcuda
  bool nouveau_blacklisted = false;
  std::vector<std::string> device_nodes;  ///< /dev/nvidia*
  std::vector<Gpu> gpus;
  std::optional<int> nvidia_smi_status;  ///< exit status; 124/137: hung; nothing: no such program
  std::string nvidia_smi_says;           ///< first line of its error
  bool gpuadm_installed = false;         ///< /var/lib/gpuadm/journal is there
  std::string euid;
  std::string noise;  ///< what the login printed before the probe began, the first 200 bytes
};

/// Reads what playbooks/probe.sh printed (docs/reference/probe.md). Missing sections leave facts empty; no
/// text makes it crash. Fails only where the text is not probe output at all or was cut off before its end
/// mark: Fault::parse.
[[nodiscard]] Result<Facts> parse(std::string_view probe_output);

/// Sets clock_offset from when we sent the probe and had its answer, so that the way there and back cancels
/// out.
void place_clock(Facts& facts, base::Time sent, base::Time answered);

/// Everything, for JSON. Values that look like passwords in runtime configurations are replaced by "***".
[[nodiscard]] base::Tree to_tree(const Facts& facts);

/// By host name; a host that cannot be reached is data.
using Census = std::map<std::string, Result<Facts>>;

}  // namespace facts
