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

/// What is on a host, typed; nothing about good or bad.
/// std::optional = could not be read; an empty list = read, and there are none.
namespace facts {

using base::Result;

enum class Family { debian, redhat, suse, other };
enum class CgroupVersion { v1, v2, hybrid };

// --- The machine -------------------------------------------------------------------------------------

struct Os {
  std::string id, version_id, codename, pretty;  ///< /etc/os-release
  /// The distribution whose packages it has: of Linux Mint 22 "ubuntu", "24.04", "noble"; the same as above
  /// where it is built from no other.
  std::string parent_id, parent_version_id, parent_codename;
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

struct SwapArea {
  std::string path, type;
  std::uint64_t kib = 0;
};

/// A systemd unit the probe asked for.
struct Unit {
  std::string load, active, sub, enabled;
  std::map<std::string, std::string> environment;  ///< proxy variables only
  std::map<std::string, std::string> limits;       ///< LimitNOFILE, LimitMEMLOCK, TasksMax, Delegate
  std::string command;                    ///< what it starts, with arguments; of container runtimes only
  std::optional<std::uint64_t> restarts;  ///< by systemd, since it was started by hand or at boot
  std::optional<double> since;            ///< seconds after boot at which it became active last
};

/// A process that waits in the kernel (D) or has ended and was not collected (Z).
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
  bool physical = false;                         ///< has a device behind it
  std::optional<int> speed;                      ///< Mbit/s; of physical links, as all below
  std::string duplex;                            ///< "full", "half", "unknown"
  std::optional<std::uint64_t> changes;          ///< how often the carrier came or went
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
  std::string backend;                          ///< of iptables: "nf_tables" or "legacy"; empty: not known
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
  std::string slot;       ///< 0000:00:06.0
  std::string device_id;  ///< "2335", lower case
  std::string subsystem;  ///< "10de:18bf"
  std::string pci_class;  ///< "0302"
  std::string driver;     ///< bound kernel driver, or empty
  std::string iommu;  ///< how the IOMMU translates for it: "identity", "DMA", "DMA-FQ"; empty: not at all, or
                      ///< not known
  std::string place;  ///< with the bridges above: pci0000:15/0000:15:01.0/…; empty: not known
  std::optional<int> numa;  ///< -1: the firmware names none
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
  /// Leaves of `nvidia-smi -q -x` by path below the GPU, "temperature/gpu_temp": those of the groups that
  /// checks look at and that have data, under the names that driver 580 has for them.
  std::map<std::string, std::string> readings;
  int mig_devices = 0;
  std::vector<GpuProcess> processes;
  std::optional<std::string> inforom_checksum;
  std::optional<NvLinks> nvlinks;
  std::vector<std::string> paths_to;  ///< to each GPU by index, of `nvidia-smi topo -m`: "X", "NV18", "PIX"
};

struct FabricManager {
  std::optional<std::string> version;           ///< of the program
  std::optional<std::vector<std::string>> log;  ///< lines of its log that tell of errors or success
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
  std::string slot;    ///< 0000:2a:00.0; of Xids without a function .0 is meant
  int code = 0;
  std::string text;  ///< what follows the number
};

struct Driver {
  std::string version;  ///< of the loaded kernel module, else what nvidia-smi says
  std::optional<bool> open_modules;
  std::optional<std::string> cuda;     ///< what nvidia-smi says it supports
  std::optional<std::string> library;  ///< version of libnvidia-ml.so.1
};

/// A folder below which NVIDIA's DRA driver may find the GPU driver; paths are relative to it, empty where
/// the file is not there.
struct DriverRoot {
  std::string path, smi, library;
  bool hides_devices =
      false;  ///< it has a folder dev without NVIDIA's devices, and the DRA driver looks there
  [[nodiscard]] bool is_complete() const { return !smi.empty() && !library.empty() && !hides_devices; }
};

// --- Container runtimes and Kubernetes ---------------------------------------------------------------

struct Containerd {
  std::string version;
  std::optional<std::string> config;  ///< text of /etc/containerd/config.toml; nothing: there is no such file
  std::optional<std::string> dump;    ///< `containerd config dump`
  bool socket = false;
  std::optional<bool> cri_disabled;                  ///< by disabled_plugins in force
  std::vector<std::string> drop_ins;                 ///< files under /etc/containerd/conf.d
  std::map<std::string, std::string> drop_in_texts;  ///< of those, and of what config.toml imports
  std::string error;                                 ///< what `containerd config dump` says where it fails
  bool dump_stopped = false;                         ///< `containerd config dump` did not end in its time
  std::optional<int> config_version;                 ///< of config.toml; 1 where it names none
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
  std::map<std::string, std::string> texts;  ///< by path
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

/// A part of the control plane, asked on its own machine how it is.
struct Component {
  std::string name;  ///< "kube-apiserver", "etcd"
  int status = 0;    ///< 0: it answered
  std::string says;
};

struct KubernetesTools {
  std::optional<std::string> kubeadm, kubelet, kubectl;  ///< versions, "v1.20.2"
  /// What `kubeadm config images list` prints for kubeadm's own version; empty: not read.
  std::vector<std::string> images;
  bool admin_conf = false;    ///< /etc/kubernetes/admin.conf
  bool kubelet_conf = false;  ///< /etc/kubernetes/kubelet.conf
  std::vector<std::string> manifests, cni_configs, cni_binaries;
  bool etcd_data = false;                    ///< /var/lib/etcd is not empty
  bool bootstrap_conf = false, ca = false;   ///< bootstrap-kubelet.conf, pki/ca.crt
  std::string ca_sha256;                     ///< of pki/ca.crt; empty: not read
  std::string admin_server, kubelet_server;  ///< `server:` of the two kubeconfigs
  std::string cluster_name, node_name;  ///< of the kubeconfigs' `current-context`; empty: not named there
  std::optional<base::Tree> kubelet_config;  ///< /var/lib/kubelet/config.yaml, where it parses
  std::string kubelet_config_error;
  std::string kubelet_flags;                               ///< KUBELET_KUBEADM_ARGS and KUBELET_EXTRA_ARGS
  std::optional<std::vector<std::string>> device_plugins;  ///< names in /var/lib/kubelet/device-plugins
  std::optional<std::vector<Certificate>> certificates;
  std::optional<std::vector<Component>> components;    ///< only where the probe was asked for them
  std::vector<std::string> kubelet_log;                ///< last lines, where the kubelet does not run
  std::optional<std::string> cpu_state, memory_state;  ///< policies in the kubelet's checkpoint files
  std::optional<bool> shared_mount;                    ///< /var/lib/kubelet lies on a shared mount
  Hardening hardening;
};

/// The image of that name in kubeadm's list, "pause"; empty where the list was not read or is of another
/// version than this one. A version without patch stands for each of its patches.
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
  std::optional<PodStates> pod_states;  ///< only of a node, and only where the probe was asked for it
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
  std::optional<std::vector<std::string>> dev_char;   ///< /dev/char/195:*; nothing: no driver to have them
  std::vector<std::string> dangling_libraries;        ///< links of the driver's libraries to nowhere
  std::map<std::string, std::string> linker_folders;  ///< of CUDA in /etc/ld.so.conf.d: folder -> file
  std::optional<std::string> gcc;                     ///< version; asked only where DKMS has a driver
  std::string kernel_compiler;                        ///< version of the gcc that built the kernel
  std::optional<double> smi_seconds;                  ///< that nvidia-smi -L took
  std::vector<std::string> smi_warnings;              ///< what nvidia-smi -L said beside the list
  std::optional<int> nvidia_smi_status;            ///< exit status; 124/137: hung; nothing: no such program
  std::string nvidia_smi_says;                     ///< first line of its error
  std::optional<double> uptime;                    ///< seconds since boot
  std::string numa_nodes;                          ///< "0" or "0-1"; /sys/devices/system/node/online
  std::optional<std::vector<LogLine>> kernel_log;  ///< the first line, then the newest 300 of interest
  std::vector<Xid> xids, sxids;                    ///< in that log
  std::optional<std::string> command_line;         ///< of the kernel
  std::optional<std::uint64_t> threads;            ///< of all processes
  std::optional<std::vector<Process>> stuck;
  std::vector<FreeBlocks> free_blocks;
  std::string clocksource, governor, lockdown, umask, utc_offset;
  std::optional<std::string> time_server;                       ///< what chrony follows; empty: nothing
  std::map<std::uint64_t, std::uint64_t> huge_pages;            ///< KiB of a page -> how many are reserved
  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;  ///< errors of main memory since boot
  std::optional<std::uint64_t> neighbours;                      ///< entries of the ARP table
  std::optional<std::vector<std::string>> crash_records;  ///< what pstore has kept of a kernel that died
  std::optional<bool> secure_boot;
  std::vector<std::string> iommus;
  std::optional<std::vector<std::string>> acs_bridges;  ///< PCI bridges that send what devices say to each
                                                        ///< other upwards
  std::optional<std::vector<std::string>> selinux_denials;  ///< of containers, the last few
  std::vector<FstabEntry> fstab;
  std::vector<BlockDevice> block_devices;
  std::map<std::string, std::string> nvme_states;  ///< "nvme0" -> "live"
  std::vector<DriveHealth> drives;
  std::optional<bool> xfs_ftype;  ///< of /var/lib where that is XFS
  std::string iscsi_initiator;
  std::vector<std::string> multipath_rules;       ///< blacklist lines of /etc/multipath.conf
  std::vector<std::string> unmanaged_devices;     ///< what NetworkManager leaves alone
  std::map<std::string, std::string> networkd;    ///< ManageForeign… settings
  std::optional<double> etcd_fsync, etcd_commit;  ///< seconds, of 99 in 100, since etcd started
  std::optional<std::string> proxy_mode;          ///< what the running kube-proxy says
  std::vector<PciNic> pci_nics;
  std::map<std::string, std::string> rdma_devices;  ///< name -> firmware
  std::vector<std::string> rdma_verbs;              ///< devices that programs can open
  std::vector<RdmaPort> rdma_ports;
  std::string mlx5_version, nvidia_fs_version;  ///< empty: not loaded, or without a version
  bool gpuadm_installed = false;  ///< its journal here tells of a cluster, or of files in its folders
  std::string euid;
  /// Sections of the probe that could not be read, and why: "missing", "cut off", "timed out".
  std::map<std::string, std::string> unread;
  std::string noise;  ///< what the login printed before the probe began, the first 200 bytes
};

/// Reads what playbooks/probe.sh printed (docs/reference/probe.md). Missing sections leave facts empty; no
/// text makes it crash. Fails only where the text is not probe output at all or was cut off before its end
/// mark: Fault::parse.
[[nodiscard]] Result<Facts> parse(std::string_view probe_output);

/// Sets clock_offset from when we sent the probe and had its answer, so that the way there and back cancels
/// out.
void place_clock(Facts& facts, base::Time sent, base::Time answered);

/// The interface that has an own address in a network with this one; empty where none has.
[[nodiscard]] std::string link_to(const Facts& facts, std::string_view address);

/// The first complete driver root, or nullptr.
[[nodiscard]] const DriverRoot* driver_root_of(const Facts& facts);

/// The models of the GPUs, as nvidia-smi names them.
[[nodiscard]] std::vector<std::string> models_of(const Facts& facts);

/// Everything, for JSON. Values that look like passwords in runtime configurations are replaced by "***".
[[nodiscard]] base::Tree to_tree(const Facts& facts);

/// By host name; a host that cannot be reached is data.
using Census = std::map<std::string, Result<Facts>>;

}  // namespace facts
