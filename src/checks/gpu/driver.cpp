#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

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

std::string model_name(const Subject& s, const PciGpu& gpu) {
  const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
  return model ? fmt::format("{} ({})", model->name, gpu.slot)
               : fmt::format("10de:{} ({})", gpu.device_id, gpu.slot);
}

void nouveau_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  std::vector<std::string> seen;
  for (const char* module : {"nouveau", "nova_core", "nova_drm"})
    if (has(s.facts.kernel.modules, module)) seen.push_back(std::string("module ") + module);
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus)
    if (gpu.driver == "nouveau" || gpu.driver.starts_with("nova"))
      seen.push_back(gpu.driver + " holds " + gpu.slot);
  if (!seen.empty())
    out.fail(gpu_severity(s), "the nouveau driver is bound to the GPU: NVIDIA's driver cannot load",
             list(seen),
             "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/nouveau.conf && "
             "update-initramfs -u "
             "(or dracut -f), then reboot");
}

void nouveau_blacklist(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.driver) return out.skip("NVIDIA's driver is loaded");
  if (!s.facts.nvidia.nouveau_blacklisted && is_loadable(s.facts, "nouveau"))
    out.fail(Severity::note, "nouveau may bind to the GPU at the next boot",
             "no 'blacklist nouveau' in /etc/modprobe.d",
             "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/nouveau.conf && "
             "update-initramfs -u "
             "(or dracut -f)");
}

void conflicting_bindings(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const std::string& driver = gpu.driver;
    if (driver.empty() || driver == "nvidia" || driver == "nouveau" || driver.starts_with("nova")) continue;
    out.fail(Severity::warning, fmt::format("a GPU is bound to {}: containers cannot use it", driver),
             model_name(s, gpu),
             fmt::format("if it is not meant for virtual machines: driverctl unset-override {}", gpu.slot));
  }
}

void installed(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.driver || s.facts.nvidia.driver_installed) {
    return out.pass("driver " + (s.facts.nvidia.driver ? s.facts.nvidia.driver->version
                                                       : *s.facts.nvidia.driver_installed));
  }
  out.fail(
      gpu_severity(s), "no NVIDIA driver is installed for this kernel: the cluster will have no GPUs",
      "no nvidia module is loaded or lies under /lib/modules/" + s.facts.kernel.release,
      "gpuadm init --driver install; or by hand (Ubuntu: apt-get install "
      "nvidia-headless-580-server-open nvidia-utils-580-server; Debian: nvidia-driver), reboot, run again");
}

void module_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
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
  const std::string remedy =
      "reboot, or reload the modules while no GPU program runs; then hold the driver's packages (apt-mark "
      "hold PACKAGE)";
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
               fmt::format("install the {} flavor of the driver, for example nvidia-headless-580-server{}",
                           open ? "proprietary" : "open", open ? "" : "-open"));
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
    {"gpu.driver.nouveau-loaded", "nouveau is not bound to the GPU", "two drivers cannot use one device",
     "pci /proc/modules /lib/modules/* /etc/modprobe.d/* /usr/lib/modprobe.d/*", preflight | node,
     nouveau_loaded},
    {"gpu.driver.nouveau-blacklist", "nouveau is not loaded at boot", "otherwise it binds to the GPU first",
     "pci /proc/modules /lib/modules/* /etc/modprobe.d/* /usr/lib/modprobe.d/*", preflight,
     nouveau_blacklist},
    {"gpu.driver.conflicting-bindings", "the GPUs are bound to NVIDIA's driver",
     "a GPU bound to vfio-pci is reserved for virtual machines", "pci", preflight | node,
     conflicting_bindings},
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
