#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

/// Meaning of nvidia-smi's exit status, and the remedy (NVIDIA's GPU Operator troubleshooting guide,
/// nvidia-smi's manual).
struct Meaning {
  int status;
  const char* message;
  const char* remedy;
};
constexpr std::array meanings = {
    Meaning{2, "nvidia-smi did not understand its arguments",
            "use the nvidia-smi that belongs to the driver: command -v nvidia-smi"},
    Meaning{3, "nvidia-smi cannot do this on this GPU", "read its message and upgrade the driver"},
    Meaning{4, "nvidia-smi has no permission", "run as root; check the modes of /dev/nvidia*"},
    Meaning{6, "nvidia-smi finds no GPU", "dmesg | grep NVRM, and look for a GPU that failed to start"},
    Meaning{8, "a GPU's external power cable is not connected", "shut down and connect it"},
    Meaning{9, "the NVIDIA driver is not loaded", "modprobe nvidia; if it fails: dmesg | grep -i nvidia"},
    Meaning{10, "the driver has a problem with the GPU's interrupt",
            "dmesg | grep NVRM, and check the BIOS settings for MSI"},
    Meaning{
        12, "libnvidia-ml.so is missing",
        "install the driver's libraries (Ubuntu: libnvidia-compute of the driver's version), then: ldconfig"},
    Meaning{13, "libnvidia-ml.so is too old for this nvidia-smi",
            "install libraries and nvidia-smi of one version"},
    Meaning{14, "a GPU's infoROM is corrupt", "reseat or replace the GPU; the vendor has tools to check it"},
    Meaning{15, "a GPU has fallen off the bus",
            "reboot or power-cycle the machine; replace the GPU if it happens again"},
    Meaning{18, "the NVIDIA libraries and the loaded module have different versions", "reboot the host"},
    Meaning{124, "nvidia-smi hangs",
            "reboot (a hung driver cannot be unloaded); dmesg | grep -E 'NVRM|Xid' shows the reason"},
};

void smi_runs(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.nvidia.smi_status)
    return out.fail(gpu_severity(s), "nvidia-smi is not installed",
                    "not in PATH, /usr/local/nvidia/bin or /opt/nvidia/bin",
                    "install the driver's utilities (Ubuntu: nvidia-utils of the driver's version)");
  int status = *s.facts.nvidia.smi_status;
  if (status == 137 || status == 143) status = 124;
  if (status != 0) {
    const auto row = std::ranges::find(meanings, status, &Meaning::status);
    return out.fail(
        gpu_severity(s), row == meanings.end() ? "nvidia-smi fails" : row->message,
        fmt::format("exit status {}{}", *s.facts.nvidia.smi_status,
                    s.facts.nvidia.smi_message.empty() ? "" : ": " + s.facts.nvidia.smi_message),
        row == meanings.end() ? "run nvidia-smi on the host, and check dmesg | grep NVRM" : row->remedy);
  }
  const auto driven = static_cast<std::size_t>(
      std::ranges::count(s.facts.nvidia.pci_gpus, std::string("nvidia"), &facts::PciGpu::driver));
  if (driven > s.facts.nvidia.gpus.size())
    return out.fail(gpu_severity(s), "nvidia-smi does not list every GPU",
                    fmt::format("{} on the PCI bus, {} listed", driven, s.facts.nvidia.gpus.size()),
                    "find the failed GPU with dmesg | grep -E 'NVRM|Xid'; reboot or power-cycle the machine");
  std::vector<std::string> names;
  for (const Gpu& gpu : s.facts.nvidia.gpus) names.push_back(gpu.name.empty() ? name_of(gpu) : gpu.name);
  out.pass(list(names));
}

void libs_present(const Subject& s, Verdicts& out) {
  if (!s.facts.nvidia.driver) return out.skip("no NVIDIA driver is loaded");
  const auto named = [&](std::string_view part) {
    return std::ranges::any_of(s.facts.nvidia.libraries,
                               [&](const std::string& path) { return path.find(part) != std::string::npos; });
  };
  std::vector<std::string> missing;
  for (const char* library : {"libnvidia-ml.so", "libcuda.so"})
    if (!named(library)) missing.emplace_back(library);
  if (!missing.empty())
    out.fail(
        gpu_severity(s), "libraries of the driver are missing: " + list(missing),
        "not in /usr/lib or /usr/local/nvidia",
        "install the driver's libraries (Ubuntu: libnvidia-compute of the driver's version), then: ldconfig");
}

void device_nodes(const Subject& s, Verdicts& out) {
  if (!s.facts.nvidia.driver) return out.skip("no NVIDIA driver is loaded");
  std::vector<std::string> missing;
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"})
    if (!has(s.facts.nvidia.device_nodes, path)) missing.emplace_back(path);
  const auto cards = static_cast<std::size_t>(
      std::ranges::count_if(s.facts.nvidia.device_nodes, [](const std::string& path) {
        return path.size() > 11 && path[11] >= '0' && path[11] <= '9';  // after "/dev/nvidia"
      }));
  if (cards < s.facts.nvidia.gpus.size())
    missing.push_back(
        fmt::format("{} of {} /dev/nvidiaN", s.facts.nvidia.gpus.size() - cards, s.facts.nvidia.gpus.size()));
  if (!missing.empty())
    out.fail(gpu_severity(s), "device files of the driver are missing", list(missing),
             "nvidia-modprobe -c0 -u");
}

void persistence(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::vector<std::string> off;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.persistence && *gpu.persistence == "Disabled") off.push_back(fmt::format("GPU {}", gpu.index));
  if (!off.empty())
    out.fail(s.stage == Stage::node ? Severity::warning : Severity::note,
             "persistence mode is off: the driver initializes the GPU for each program", list(off),
             "systemctl enable --now nvidia-persistenced");
}

void compute_mode(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.compute_mode && *gpu.compute_mode != "Default")
      out.fail(Severity::warning, fmt::format("GPU {} does not accept every program", gpu.index),
               "compute mode " + *gpu.compute_mode, fmt::format("nvidia-smi -i {} -c 0", gpu.index));
}

void mig_consistent(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.mig && gpu.mig_pending && *gpu.mig != *gpu.mig_pending)
      out.fail(Severity::warning, fmt::format("GPU {} waits for a reset to change its MIG mode", gpu.index),
               fmt::format("MIG is {}, pending is {}", *gpu.mig, *gpu.mig_pending),
               fmt::format("drain the node, then: nvidia-smi -i {} --gpu-reset, or reboot", gpu.index));
}

/// cloud-native-docs gpu-operator/release-notes.rst: mixing MIG and full GPUs fails on these.
constexpr std::array bad_for_mig = {"570.124.06", "570.133.20", "570.148.08", "570.158.01"};

void mig_known_bad(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  const auto with =
      std::ranges::count_if(s.facts.nvidia.gpus, [](const Gpu& gpu) { return gpu.mig == "Enabled"; });
  if (with == 0 || with == static_cast<std::ptrdiff_t>(s.facts.nvidia.gpus.size()))
    return out.pass("MIG and full GPUs are not mixed on the host");
  const std::string version = s.facts.nvidia.driver ? s.facts.nvidia.driver->version : "";
  if (std::ranges::find(bad_for_mig, version) != bad_for_mig.end())
    out.fail(Severity::warning, "this driver fails when MIG and full GPUs are mixed", version,
             "use 570.86.15, or a newer branch");
}

void recovery_action(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.recovery_action && *gpu.recovery_action != "None")
      out.fail(gpu_severity(s), fmt::format("the driver requests a recovery action for GPU {}", gpu.index),
               fmt::format("{}, recovery action: {}", gpu.name, *gpu.recovery_action),
               "drain the node and take that action: Reset is nvidia-smi --gpu-reset, Reboot is a reboot");
}

void wsl(const Subject& s, Verdicts& out) {
  if (s.facts.software.paths.contains("/dev/dxg"))
    out.fail(Severity::warning,
             "the host is a Windows Subsystem for Linux (WSL): it accesses GPUs through /dev/dxg",
             s.facts.kernel.release, "use a Linux machine; on WSL the device plugin offers at most one GPU");
}

void tegra(const Subject& s, Verdicts& out) {
  if (s.facts.software.paths.contains("/etc/nv_tegra_release"))
    out.fail(Severity::warning, "the host is a Jetson: it has a different NVIDIA driver",
             "/etc/nv_tegra_release", "follow NVIDIA's guide for Jetson; the driver checks do not apply");
}

constexpr std::array gpu_rows = std::to_array<Check>({
    {"gpu.driver.libs-present", "the driver's libraries are installed", "programs and containers load them",
     "pci gpu-libraries", preflight | node, libs_present},
    {"gpu.driver.smi-runs", "nvidia-smi works and lists every GPU", "other programs use the same library",
     "pci nvidia-smi", preflight | node, smi_runs},
    {"gpu.driver.device-nodes", "the driver's device files exist", "containers use these files",
     "pci paths nvidia-smi", preflight | node, device_nodes},
    {"gpu.driver.persistence", "persistence mode is on", "initializing a GPU takes seconds",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, persistence},
    {"gpu.driver.compute-mode", "every program can use the GPUs", "an exclusive GPU refuses a second program",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, compute_mode},
    {"gpu.mig.mode-consistent", "no change of the MIG mode is pending",
     "the device plugin sees the old mode until a reset", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     mig_consistent},
    {"gpu.mig.known-bad-driver", "the driver can mix MIG and full GPUs", "some drivers of branch 570 cannot",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, mig_known_bad},
    {"gpu.health.recovery-action", "no GPU needs a recovery action",
     "the driver reports when a GPU must be reset or replaced", "pci nvidia-smi nvidia-smi-xml",
     preflight | node, recovery_action},
    {"gpu.driver.wsl", "the host is not WSL", "GPUs are accessed differently there", "pci paths", preflight,
     wsl},
    {"gpu.driver.tegra", "the host is not a Jetson", "GPUs are accessed differently there", "pci paths",
     preflight, tegra},
});

}  // namespace

std::span<const Check> gpu_checks() {
  return gpu_rows;
}

}  // namespace checks
