#pragma once

#include "gpuadm/base/tree.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace facts {

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
  std::optional<std::uint64_t> used_mib;
};

/// NVLink of one GPU.
struct NvLinks {
  int active = 0;
  std::vector<std::string> inactive;            ///< numbers of the links that are down
  std::map<std::string, std::uint64_t> errors;  ///< "link 3: Replay" -> count; those above zero
};

/// An instance of a GPU in MIG mode. nvidia-smi reports no utilization for it.
struct MigInstance {
  int index = 0;
  std::string profile, uuid;  ///< "1g.10gb", "MIG-…"
  std::optional<double> used_mib, total_mib;
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
  std::vector<MigInstance> instances;  ///< those that nvidia-smi -L lists
  std::vector<GpuProcess> processes;
  std::optional<std::string> inforom_checksum;
  std::optional<NvLinks> nvlinks;
  std::vector<std::string> paths_to;  ///< to each GPU by index, of `nvidia-smi topo -m`: "X", "NV18", "PIX"
};

/// A GPU that `gpuadm gpu quarantine` keeps from pods: a line of /etc/gpuadm/quarantine.
struct QuarantinedGpu {
  std::string uuid, slot, since;  ///< "GPU-…", as Gpu::bus_id, RFC 3339
  std::string reason;             ///< the operator's words; may be empty
  bool by_taint = false;          ///< a DeviceTaintRule keeps pods from it, and not the device plugin
};

struct FabricManager {
  std::optional<std::string> version;           ///< of the program
  std::optional<std::vector<std::string>> log;  ///< lines of its log about errors or success
  std::map<std::string, std::string> config;
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

/// A CDI specification on the host.
struct CdiSpec {
  std::string file, kind;             ///< "nvidia.com/gpu"
  std::vector<std::string> devices;   ///< "0", "GPU-…", "all"
  std::vector<std::string> versions;  ///< of the driver libraries it mounts
  std::string version;                ///< cdiVersion, "0.5.0"
  std::vector<std::string> hooks;     ///< paths of the programs that it runs
  bool partial = false;               ///< the file was read in part: it may describe more devices
};

/// The NVIDIA Container Toolkit's configuration and self-check.
struct Toolkit {
  std::optional<base::Tree> config;  ///< /etc/nvidia-container-runtime/config.toml
  std::string config_error;
  std::optional<int> cli_status;  ///< of `nvidia-container-cli info`
  std::string cli_message;        ///< its error
  std::vector<CdiSpec> cdi;
};

/// GPUs, and the software for them.
struct Nvidia {
  std::vector<PciGpu> pci_gpus;
  std::vector<Gpu> gpus;
  std::vector<QuarantinedGpu> quarantine;
  std::vector<std::string> nvswitches;       ///< slots on the PCI bus
  std::vector<std::string> nvlink_managers;  ///< network cards that manage NVLink switches (NVLink 5)
  std::vector<Xid> xids, sxids;              ///< in the kernel's log
  std::optional<Driver> driver;
  std::optional<std::string> driver_installed;  ///< version of the module on disk for this kernel
  std::optional<std::vector<DriverRoot>> driver_roots;
  std::set<std::string> blacklisted;            ///< modules that are not loaded by themselves, with _ for -
  std::optional<std::string> gcc;               ///< version; read only if DKMS has a driver
  std::vector<std::string> build_log;           ///< last lines of a build of its modules that failed
  std::vector<std::string> libraries;           ///< paths of libnvidia-ml and libcuda
  std::vector<std::string> dangling_libraries;  ///< dangling links of the driver's libraries
  std::map<std::string, std::string> linker_folders;  ///< of CUDA in /etc/ld.so.conf.d: folder -> file
  std::vector<std::string> device_nodes;              ///< /dev/nvidia*
  std::optional<std::vector<std::string>> dev_char;   ///< /dev/char/195:*; nothing: no driver is loaded
  std::optional<std::string> device_label;            ///< SELinux type of /dev/nvidia0
  std::optional<int> smi_status;          ///< exit status; 124/137: timed out; nothing: not installed
  std::string smi_message;                ///< the line with which it ended
  std::optional<double> smi_seconds;      ///< duration of nvidia-smi -L
  std::vector<std::string> smi_warnings;  ///< other output of nvidia-smi -L
  FabricManager fabric_manager;
  Toolkit toolkit;
  std::optional<std::string> ctk;  ///< version of nvidia-ctk
  /// The pods to which the kubelet has allocated a GPU, a share of it or a MIG instance, by its UUID;
  /// nothing: that was not read, or the kubelet does not name all of them by UUID.
  std::optional<std::map<std::string, std::set<std::string>, std::less<>>> allocated;
};

/// The first complete driver root, or nullptr.
[[nodiscard]] const DriverRoot* driver_root_of(const Nvidia& nvidia);

/// The entry of this GPU, or nullptr if it is not in quarantine.
[[nodiscard]] const QuarantinedGpu* quarantine_of(const Nvidia& nvidia, const Gpu& gpu);
/// The GPUs in the driver that are not in quarantine.
[[nodiscard]] std::vector<const Gpu*> usable_gpus(const Nvidia& nvidia);
/// Whether MIG is on for a GPU.
[[nodiscard]] bool has_mig(const Nvidia& nvidia);

/// "since 2026-11-27T02:00:00Z: Xid 79"
[[nodiscard]] std::string since_text(const QuarantinedGpu& gpu);
/// The word of an entry that says that a DeviceTaintRule keeps pods from the GPU.
constexpr const char* taint_word = "(DeviceTaintRule)";
/// The DeviceTaintRule for a GPU in quarantine.
[[nodiscard]] std::string taint_rule_of(std::string_view uuid);
/// Whether a line of the file is an entry: UUID, slot and time, taint_word if it applies, then the reason.
/// The UUID has NVIDIA's form.
[[nodiscard]] std::optional<QuarantinedGpu> quarantined_in(std::string_view line);

/// The models of the GPUs, as named by nvidia-smi.
[[nodiscard]] std::vector<std::string> models_of(const Nvidia& nvidia);

}  // namespace facts
