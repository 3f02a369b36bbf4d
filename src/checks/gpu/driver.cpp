#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

using facts::PciGpu;

/// A GPU host with a loaded driver; skipped with the reason otherwise.
const facts::Driver* loaded_driver(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return nullptr;
  if (!s.facts.nvidia.driver) out.skip("no NVIDIA driver is loaded");
  return s.facts.nvidia.driver ? &*s.facts.nvidia.driver : nullptr;
}

void installed(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (is_wsl(s.facts)) return out.skip("Windows has the driver");
  if (s.facts.nvidia.driver || s.facts.nvidia.driver_installed) {
    return out.pass("driver " + (s.facts.nvidia.driver ? s.facts.nvidia.driver->version
                                                       : *s.facts.nvidia.driver_installed));
  }
  out.fail(gpu_severity(s), "no NVIDIA driver is installed for this kernel: the cluster will have no GPUs",
           "no nvidia module is loaded, and none is in /lib/modules/" + s.facts.kernel.release,
           "gpuadm init --driver install; or by hand: @install-driver@, reboot, run again");
}

void module_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (is_wsl(s.facts)) return out.skip("Windows has the driver");
  if (!s.facts.nvidia.driver)
    return out.fail(gpu_severity(s), "the nvidia module is not loaded",
                    s.facts.nvidia.driver_installed
                        ? "version " + *s.facts.nvidia.driver_installed + " is installed"
                        : "no /proc/driver/nvidia",
                    "modprobe nvidia && modprobe nvidia_uvm; if it fails: dmesg | grep -i nvidia");
  if (!is_loaded(s.facts, "nvidia_uvm"))
    out.fail(Severity::warning, "the nvidia_uvm module is not loaded: CUDA programs fail",
             "nvidia is loaded, nvidia_uvm is not", "modprobe nvidia_uvm, or nvidia-modprobe -c0 -u");
}

void version_mismatch(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  // A reboot loads the module that is on the disk.
  const auto& installed = s.facts.nvidia.driver_installed;
  const bool is_old = driver->library && installed && *installed == driver->version;
  const std::string remedy =
      is_old ? fmt::format(
                   "the kernel modules on the disk are {}, too: install those of {} (@install-driver@; with "
                   "DKMS: dkms autoinstall), then reboot",
                   *installed, *driver->library)
             : std::string(
                   "reboot, or reload the modules while no GPU program runs; then hold the driver's "
                   "packages (@hold@ PACKAGE)");
  if (driver->library && *driver->library != driver->version)
    return out.fail(gpu_severity(s), "the NVIDIA libraries and the loaded module have different versions",
                    fmt::format("module {}, libnvidia-ml {}", driver->version, *driver->library), remedy);
  if (s.facts.nvidia.smi_status == 18 ||
      s.facts.nvidia.smi_message.find("version mismatch") != std::string::npos)
    return out.fail(gpu_severity(s), "the NVIDIA libraries and the loaded module have different versions",
                    s.facts.nvidia.smi_message, remedy);
  if (s.facts.nvidia.driver_installed && *s.facts.nvidia.driver_installed != driver->version)
    out.fail(Severity::warning,
             "the installed driver differs from the loaded one: it is loaded at the next reboot",
             fmt::format("loaded {}, installed {}", driver->version, *s.facts.nvidia.driver_installed),
             remedy);
}

void branch_eol(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  const auto branch = branch_of(driver->version);
  const auto row = branch ? s.data.branches.find(*branch) : s.data.branches.end();
  if (row == s.data.branches.end())
    return out.unknown(fmt::format("driver branch {} is unknown", branch.value_or(0)));
  if (!row->second.is_maintained(s.data.today))
    return out.fail(
        Severity::warning, fmt::format("driver branch {} no longer gets fixes", *branch), row->second.text(),
        "plan an upgrade to a long-term or production branch that supports this GPU's generation");
  out.pass(fmt::format("branch {}: {}", *branch, row->second.text()));
}

void arch_supported(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const std::string version =
      s.facts.nvidia.driver ? s.facts.nvidia.driver->version : s.facts.nvidia.driver_installed.value_or("");
  const auto branch = branch_of(version);
  if (!branch) return out.skip("no NVIDIA driver is installed");
  std::set<std::string> unknown;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model) {
      unknown.insert(gpu.device_id);
    } else if (model->last_branch && *branch > *model->last_branch) {
      out.fail(gpu_severity(s),
               fmt::format("driver {} no longer supports the {} generation", version, model->architecture),
               model_name(s, gpu),
               fmt::format("install a driver of branch {}, the last one for it", *model->last_branch));
    }
  }
  if (!unknown.empty() && out.silent())
    out.unknown("unknown device: 10de:" + list({unknown.begin(), unknown.end()}));
}

void module_flavor(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  if (!driver->open_modules) return out.unknown("/proc/driver/nvidia could not be read");
  const bool open = *driver->open_modules;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model) continue;
    const bool wrong = open ? model->flavor == "proprietary" : model->flavor == "open-only";
    if (wrong)
      out.fail(gpu_severity(s),
               fmt::format("the {} kernel modules do not support this GPU", open ? "open" : "proprietary"),
               fmt::format("{}, {}", model_name(s, gpu), model->architecture),
               open ? "install the proprietary flavor of the driver: @install-proprietary-driver@"
                    : "install the open flavor of the driver: @install-driver@");
  }
  if (out.silent()) out.pass(open ? "open kernel modules" : "proprietary kernel modules");
}

void min_for_cuda(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  const auto version = base::Version::parse(driver->version);
  if (!version || s.data.cuda_majors.empty()) return out.unknown("the driver's version could not be read");
  const CudaMajor* best = nullptr;
  for (const CudaMajor& row : s.data.cuda_majors)
    if (*version >= row.driver) best = &row;
  if (!best)
    return out.fail(Severity::warning, "the driver is too old for CUDA 11 and newer",
                    fmt::format("{}; CUDA {} needs {}", driver->version, s.data.cuda_majors.front().major,
                                s.data.cuda_majors.front().text),
                    "upgrade the driver, or use images with an older CUDA");
  const CudaMajor& newest = s.data.cuda_majors.back();
  if (best != &newest)
    return out.fail(Severity::note,
                    fmt::format("the driver is too old for images with CUDA {}", newest.major),
                    fmt::format("{} runs images up to CUDA {}.x; {} needs {}", driver->version, best->major,
                                newest.major, newest.text),
                    "upgrade the driver, use images with an older CUDA, or cuda-compat on data-center GPUs");
  out.pass(fmt::format("images up to CUDA {}.x run", best->major));
}

constexpr std::array driver_rows = std::to_array<Check>({
    {"gpu.driver.installed", "an NVIDIA driver is installed", "containers use the host's driver",
     "pci nvidia-module /proc/driver/nvidia/version /sys/module/nvidia/version", preflight | node, installed},
    {"gpu.driver.module-loaded", "the driver's modules are loaded",
     "programs cannot use the GPU without them", "pci /proc/modules /sys/module/ /proc/driver/nvidia/version",
     preflight | node, module_loaded},
    {"gpu.driver.version-mismatch", "the module and the libraries have the same version",
     "an upgrade without a reboot stops every GPU program",
     "pci gpu-libraries nvidia-smi nvidia-module /proc/driver/nvidia/version "
     "/sys/module/nvidia/version",
     preflight | node, version_mismatch},
    {"gpu.driver.branch-eol", "the driver's branch is maintained",
     "a discontinued branch gets no security fixes",
     "pci /proc/driver/nvidia/version /sys/module/nvidia/version", preflight | node, branch_eol},
    {"gpu.driver.arch-supported", "the driver supports this GPU generation",
     "newer drivers no longer support old generations",
     "pci nvidia-module /proc/driver/nvidia/version /sys/module/nvidia/version", preflight | node,
     arch_supported},
    {"gpu.driver.module-flavor", "the kernel modules have the flavor that the GPU needs",
     "the newest GPUs need the open modules, those before Turing the proprietary ones",
     "pci nvidia-module /proc/driver/nvidia/version /sys/module/nvidia/version", preflight | node,
     module_flavor},
    {"gpu.driver.min-for-cuda", "the driver is new enough for current images",
     "an image contains its own CUDA version",
     "pci nvidia-module /proc/driver/nvidia/version /sys/module/nvidia/version packages", preflight | node,
     min_for_cuda},
});

}  // namespace

std::span<const Check> driver_checks() {
  return driver_rows;
}

}  // namespace checks
