#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/hardening.hpp"
#include "gpuadm/facts/pods.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// State of a host, typed; without judgment.
/// std::optional = could not be read; an empty list = there are none.
namespace facts {

using base::Result;

enum class Family { debian, redhat, suse, other };
enum class CgroupVersion { v1, v2, hybrid };

// --- The machine -------------------------------------------------------------------------------------

struct Os {
  std::string id, version_id, codename, pretty;  ///< /etc/os-release
  /// The distribution whose packages it uses: of Linux Mint 22 "ubuntu", "24.04", "noble"; otherwise the same
  /// as above.
  std::string parent_id, parent_version_id, parent_codename;
  Family family = Family::other;
  std::string architecture;                   ///< uname -m
  std::string init;                           ///< name of process 1
  std::optional<std::string> container;       ///< systemd-detect-virt -c, "none" outside containers
  std::optional<std::string> virtualization;  ///< systemd-detect-virt, "none" on bare metal
};

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

struct SwapArea {
  std::string path, type;
  std::uint64_t kib = 0;
};

/// A systemd unit.
struct Unit {
  std::string load, active, sub, enabled;
  std::map<std::string, std::string> environment;  ///< proxy variables only
  std::map<std::string, std::string> limits;       ///< LimitNOFILE, LimitMEMLOCK, TasksMax, Delegate
  std::string command;                             ///< ExecStart; of container runtimes only
  std::optional<std::uint64_t> restarts;           ///< by systemd, since the last manual start or boot
  std::optional<double> since;                     ///< seconds after boot when it last became active
};

/// A process in uninterruptible sleep (D) or a zombie (Z).
struct Process {
  int pid = 0;
  std::string name;
  char state = 0;
  std::optional<double> age;  ///< seconds since it started
};

/// Free memory of a zone: blocks of 2^index pages.
struct FreeBlocks {
  int node = 0;
  std::string zone;
  std::vector<std::uint64_t> orders;
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

// --- Network -----------------------------------------------------------------------------------------

struct Listener {
  int port = 0;
  std::string address, process;
};

struct Link {
  std::string name, mac, state;
  int mtu = 0;
  bool physical = false;                         ///< has a device behind it
  std::optional<int> speed;                      ///< Mbit/s; of physical links, as all below
  std::string duplex;                            ///< "full", "half", "unknown"
  std::optional<std::uint64_t> changes;          ///< number of carrier changes
  std::optional<std::uint64_t> packets, errors;  ///< both directions
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
  std::optional<std::string> iptables;          ///< version
  std::string backend;                          ///< of iptables: "nf_tables" or "legacy"; empty: unknown
  std::vector<std::string> legacy_tables;       ///< tables of the legacy backend in the kernel
  std::optional<bool> ufw;                      ///< enabled in /etc/ufw/ufw.conf
  std::string ufw_forward;                      ///< DEFAULT_FORWARD_POLICY
  std::map<std::string, std::string> policies;  ///< of INPUT, FORWARD and OUTPUT in the table filter
  std::vector<std::string> rules;               ///< of the same, as iptables-save writes them
};

/// A network card of Mellanox or NVIDIA on the PCI bus.
struct PciNic {
  std::string slot, pci_class, driver;  ///< as in PciGpu
  std::string place;
  std::optional<int> numa;
};

struct RdmaPort {
  std::string device;  ///< "mlx5_0"
  int port = 0;
  std::string state, physical, layer;  ///< "ACTIVE", "LinkUp", "InfiniBand" or "Ethernet"
  std::string link;                    ///< network interface of an Ethernet port
  std::optional<int> gbps;
  std::string width;  ///< "4X"
  std::optional<std::uint64_t> link_downed, symbol_errors, receive_errors, recoveries;
  std::vector<std::string> gid_types;  ///< "IB/RoCE v1", "RoCE v2": of the first few
};

// --- NVIDIA ------------------------------------------------------------------------------------------

/// One NVIDIA device of class 0300 or 0302 on the PCI bus.
struct PciGpu {
  std::string slot;         ///< 0000:00:06.0
  std::string device_id;    ///< "2335", lower case
  std::string subsystem;    ///< "10de:18bf"
  std::string pci_class;    ///< "0302"
  std::string driver;       ///< bound kernel driver, or empty
  std::string iommu;        ///< type of its IOMMU domain: "identity", "DMA", "DMA-FQ"; empty: none or unknown
  std::string place;        ///< with the bridges above: pci0000:15/0000:15:01.0/…; empty: unknown
  std::optional<int> numa;  ///< -1: not set by the firmware
  struct Aer {
    std::uint64_t correctable = 0, nonfatal = 0, fatal = 0;
  };
  std::optional<Aer> aer;  ///< errors of PCI Express since boot
};

/// A program on a GPU, as nvidia-smi lists it.
struct GpuProcess {
  std::string pid, type, name;  ///< type "C" computes, "G" draws
};

/// NVLink of one GPU.
struct NvLinks {
  int active = 0;
  std::vector<std::string> inactive;            ///< numbers of the links that are down
  std::map<std::string, std::uint64_t> errors;  ///< "link 3: Replay" -> count; those above zero
};

/// One GPU as nvidia-smi lists it.
struct Gpu {
  int index = 0;
  std::string uuid, name, bus_id;  ///< bus_id as in PciGpu::slot
  std::optional<std::uint64_t> memory_mib;
  std::optional<std::string> compute_capability, persistence, mig;
  std::optional<std::string> architecture, mig_pending, compute_mode, recovery_action;
  /// Leaves of `nvidia-smi -q -x` by path below the GPU, "temperature/gpu_temp": the groups that checks use
  /// and that have data, under the names of driver 580.
  std::map<std::string, std::string> readings;
  int mig_devices = 0;
  std::vector<GpuProcess> processes;
  std::optional<std::string> inforom_checksum;
  std::optional<NvLinks> nvlinks;
  std::vector<std::string> paths_to;  ///< to each GPU by index, of `nvidia-smi topo -m`: "X", "NV18", "PIX"
};

struct FabricManager {
  std::optional<std::string> version;           ///< of the program
  std::optional<std::vector<std::string>> log;  ///< lines of its log about errors or success
  std::map<std::string, std::string> config;
};

/// A line of the kernel's log.
struct LogLine {
  double seconds = 0;  ///< after boot
  std::string text;
};

/// An Xid of a GPU, or an SXid of an NVSwitch.
struct Xid {
  double seconds = 0;  ///< after boot
  std::string slot;    ///< 0000:2a:00.0; Xids without a function belong to .0
  int code = 0;
  std::string text;  ///< what follows the number
};

struct Driver {
  std::string version;  ///< of the loaded kernel module, otherwise from nvidia-smi
  std::optional<bool> open_modules;
  std::optional<std::string> cuda;     ///< the supported version according to nvidia-smi
  std::optional<std::string> library;  ///< version of libnvidia-ml.so.1
};

/// A directory below which NVIDIA's DRA driver may find the GPU driver; paths are relative to it, and empty
/// if the file does not exist.
struct DriverRoot {
  std::string path, smi, library;
  bool hides_devices =
      false;  ///< it has a directory dev without NVIDIA's devices, and the DRA driver uses it
  [[nodiscard]] bool is_complete() const { return !smi.empty() && !library.empty() && !hides_devices; }
};

// --- Container runtimes and Kubernetes ---------------------------------------------------------------

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

/// A CDI specification on the host.
struct CdiSpec {
  std::string file, kind;             ///< "nvidia.com/gpu"
  std::vector<std::string> devices;   ///< "0", "GPU-…", "all"
  std::vector<std::string> versions;  ///< of the driver libraries it mounts
};

/// The NVIDIA Container Toolkit's configuration and self-check.
struct Toolkit {
  std::optional<base::Tree> config;  ///< /etc/nvidia-container-runtime/config.toml
  std::string config_error;
  std::optional<int> cli_status;  ///< of `nvidia-container-cli info`
  std::string cli_says;           ///< its error
  std::vector<CdiSpec> cdi;
};

/// A certificate and its expiration, in seconds since 1970.
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

/// A component of the control plane, queried on its own machine.
struct Component {
  std::string name;  ///< "kube-apiserver", "etcd"
  int status = 0;    ///< 0: it responds
  std::string says;
};

struct KubernetesTools {
  std::optional<std::string> kubeadm, kubelet, kubectl;  ///< versions, "v1.20.2"
  /// The output of `kubeadm config images list` for kubeadm's own version; empty: not read.
  std::vector<std::string> images;
  bool admin_conf = false;    ///< /etc/kubernetes/admin.conf
  bool kubelet_conf = false;  ///< /etc/kubernetes/kubelet.conf
  std::vector<std::string> manifests, cni_configs, cni_binaries;
  bool etcd_data = false;                    ///< /var/lib/etcd is not empty
  bool bootstrap_conf = false, ca = false;   ///< bootstrap-kubelet.conf, pki/ca.crt
  std::string ca_sha256;                     ///< of pki/ca.crt; empty: not read
  std::string admin_server, kubelet_server;  ///< `server:` of the two kubeconfigs
  std::string cluster_name, node_name;       ///< of the kubeconfigs' `current-context`; empty: not set
  std::optional<base::Tree> kubelet_config;  ///< /var/lib/kubelet/config.yaml, if it is valid
  std::string kubelet_config_error;
  std::string kubelet_flags;                               ///< KUBELET_KUBEADM_ARGS and KUBELET_EXTRA_ARGS
  std::optional<std::vector<std::string>> device_plugins;  ///< names in /var/lib/kubelet/device-plugins
  std::optional<std::vector<Certificate>> certificates;
  std::optional<std::vector<Component>> components;    ///< only if the probe was asked for them
  std::vector<std::string> kubelet_log;                ///< last lines, if the kubelet is not running
  std::optional<std::string> cpu_state, memory_state;  ///< policies in the kubelet's checkpoint files
  std::optional<bool> shared_mount;                    ///< /var/lib/kubelet is on a shared mount
  Hardening hardening;
};

/// The image with this name in kubeadm's list, "pause"; empty if the list was not read or is of another
/// version. A version without a patch matches all of its patches.
[[nodiscard]] std::string listed_image(const KubernetesTools& tools, std::string_view name,
                                       const base::Version& kubernetes);

// --- All of it ---------------------------------------------------------------------------------------

struct Facts {
  std::string hostname, fqdn, machine_id, product_uuid, vendor, product;
  std::vector<std::string> macs;  ///< of physical links
  Os os;
  std::string kernel;
  int cpus = 0;
  std::optional<std::uint64_t> memory_kib;
  std::optional<double> clock_offset;  ///< seconds that this host's clock is ahead of ours: see place_clock()
  std::optional<double> clock, clock_end;  ///< this host's time at the beginning and end of the probe
  std::optional<bool> clock_synchronized;
  CgroupVersion cgroup = CgroupVersion::v2;
  std::vector<std::string> controllers;
  std::optional<std::vector<SwapArea>> swap;
  std::vector<std::string> swap_fstab;  ///< active swap lines of /etc/fstab
  bool zram_generator = false;
  std::vector<std::string> modules, modules_builtin, modules_loadable;
  std::optional<std::map<std::string, std::string>> kernel_config;  ///< relevant options that are set
  std::map<std::string, std::string> sysctls;
  std::optional<std::vector<Listener>> listeners;
  std::vector<Link> links;
  std::map<std::string, std::string> addresses;  ///< interface -> address/prefix (first global IPv4)
  std::vector<Address> all_addresses;
  std::string default_address;      ///< source address of the default route, or of the first global one
  std::vector<std::string> routes;  ///< destinations, CIDR
  std::vector<Route> route_table;   ///< the same with all properties, including default routes
  std::optional<std::vector<std::string>> resolves;  ///< addresses to which the host's own name resolves
  std::optional<Resolver> resolver;                  ///< /etc/resolv.conf
  std::optional<Resolver> real_resolver;             ///< behind systemd-resolved
  std::map<std::string, std::string> environment;    ///< proxy variables of the login and /etc/environment
  std::map<std::string, std::uint64_t> disk_free_kib;
  std::vector<Disk> disks;
  std::vector<Mount> mounts;
  std::vector<std::string> tools;  ///< the installed ones of those that the probe checks
  std::map<std::string, std::string> tool_paths;
  std::map<std::string, std::string> paths;  ///< path of interest -> "file", "directory", "socket", "device"
  std::map<std::string, Unit> units;
  std::map<std::string, Package> packages;
  std::vector<PackageLock> package_locks;
  std::vector<Repository> repositories;
  Firewall firewall;
  std::optional<std::string> selinux;  ///< "enforcing", "permissive"; nothing: SELinux is not active
  std::optional<bool> apparmor;
  std::optional<Containerd> containerd;
  std::optional<Docker> docker;
  std::optional<std::string> crio, runc, nvidia_ctk;  ///< versions
  std::optional<CrioConfig> crio_config;
  std::optional<std::string> crictl_endpoint;  ///< of /etc/crictl.yaml; empty: not set
  Toolkit toolkit;
  std::optional<std::string> device_label;  ///< SELinux type of /dev/nvidia0
  std::vector<std::string> cri_sockets;     ///< existing sockets of the known paths
  KubernetesTools kubernetes;
  std::optional<PodStates> pod_states;  ///< only of a node, and only if requested
  std::vector<PciGpu> pci_gpus;
  std::optional<Driver> driver;
  std::optional<std::string> driver_installed;  ///< version of the module on disk for this kernel
  std::vector<std::string> driver_libraries;    ///< paths of libnvidia-ml and libcuda
  std::optional<std::vector<DriverRoot>> driver_roots;
  bool nouveau_blacklisted = false;
  std::vector<std::string> device_nodes;  ///< /dev/nvidia*
  std::vector<Gpu> gpus;
  std::vector<std::string> nvswitches;       ///< slots on the PCI bus
  std::vector<std::string> nvlink_managers;  ///< network cards that manage NVLink switches (NVLink 5)
  FabricManager fabric_manager;
  std::optional<std::vector<std::string>> dev_char;   ///< /dev/char/195:*; nothing: no driver is loaded
  std::vector<std::string> dangling_libraries;        ///< dangling links of the driver's libraries
  std::map<std::string, std::string> linker_folders;  ///< of CUDA in /etc/ld.so.conf.d: folder -> file
  std::optional<std::string> gcc;                     ///< version; read only if DKMS has a driver
  std::string kernel_compiler;                        ///< version of the gcc that built the kernel
  std::optional<double> smi_seconds;                  ///< duration of nvidia-smi -L
  std::vector<std::string> smi_warnings;              ///< other output of nvidia-smi -L
  std::optional<int> nvidia_smi_status;  ///< exit status; 124/137: timed out; nothing: not installed
  std::string nvidia_smi_says;           ///< first line of its error
  std::optional<double> uptime;          ///< seconds since boot
  std::string numa_nodes;                ///< "0" or "0-1"; /sys/devices/system/node/online
  std::optional<std::vector<LogLine>> kernel_log;  ///< the first line, then the newest 300 relevant ones
  std::vector<Xid> xids, sxids;                    ///< in that log
  std::optional<std::string> command_line;         ///< of the kernel
  std::optional<std::uint64_t> threads;            ///< of all processes
  std::optional<std::vector<Process>> stuck;
  std::vector<FreeBlocks> free_blocks;
  std::string clocksource, governor, lockdown, umask, utc_offset;
  std::optional<std::string> time_server;                       ///< the server that chrony uses; empty: none
  std::map<std::uint64_t, std::uint64_t> huge_pages;            ///< KiB of a page -> how many are reserved
  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;  ///< errors of main memory since boot
  std::optional<std::uint64_t> neighbours;                      ///< entries of the ARP table
  std::optional<std::vector<std::string>> crash_records;        ///< records of kernel crashes in pstore
  std::optional<bool> secure_boot;
  std::vector<std::string> iommus;
  std::optional<std::vector<std::string>> acs_bridges;  ///< PCI bridges with ACS redirection between devices
  std::optional<std::vector<std::string>> selinux_denials;  ///< of containers, the last few
  std::vector<FstabEntry> fstab;
  std::vector<BlockDevice> block_devices;
  std::map<std::string, std::string> nvme_states;  ///< "nvme0" -> "live"
  std::vector<DriveHealth> drives;
  std::optional<bool> xfs_ftype;  ///< of /var/lib where that is XFS
  std::string iscsi_initiator;
  std::vector<std::string> multipath_rules;       ///< blacklist lines of /etc/multipath.conf
  std::vector<std::string> unmanaged_devices;     ///< devices that NetworkManager does not manage
  std::map<std::string, std::string> networkd;    ///< ManageForeign… settings
  std::optional<double> etcd_fsync, etcd_commit;  ///< seconds, 99th percentile, since etcd started
  std::optional<std::string> proxy_mode;          ///< as reported by the running kube-proxy
  std::vector<PciNic> pci_nics;
  std::map<std::string, std::string> rdma_devices;  ///< name -> firmware
  std::vector<std::string> rdma_verbs;              ///< devices that programs can open
  std::vector<RdmaPort> rdma_ports;
  std::string mlx5_version, nvidia_fs_version;  ///< empty: not loaded, or without a version
  bool gpuadm_installed = false;  ///< its journal records a cluster, or files in its directories
  std::string euid;
  /// Sections of the probe that could not be read, with the reason: "missing", "truncated", "timed out".
  std::map<std::string, std::string> unread;
  std::string noise;  ///< output of the login shell before the probe began, the first 200 bytes
};

/// Parses the output of playbooks/probe.sh (docs/reference/probe.md). Missing sections leave facts empty; no
/// input makes it crash. Fails only if the text is not probe output or lacks its end mark: Fault::parse.
[[nodiscard]] Result<Facts> parse(std::string_view probe_output);

/// Sets clock_offset from the times when the probe was sent and its output arrived, so that the network delay
/// cancels out.
void place_clock(Facts& facts, base::Time sent, base::Time answered);

/// The interface with an address in the same network as this one; empty if none has.
[[nodiscard]] std::string link_to(const Facts& facts, std::string_view address);

/// The first complete driver root, or nullptr.
[[nodiscard]] const DriverRoot* driver_root_of(const Facts& facts);

/// The models of the GPUs, as named by nvidia-smi.
[[nodiscard]] std::vector<std::string> models_of(const Facts& facts);

/// Everything, for JSON. Apparent passwords in runtime configurations are replaced by "***".
[[nodiscard]] base::Tree to_tree(const Facts& facts);

/// By host name; an unreachable host is data.
using Census = std::map<std::string, Result<Facts>>;

}  // namespace facts
