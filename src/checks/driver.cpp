#include "gpuadm/base/text.hpp"

#include "checks/see.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

using facts::PciGpu;

/// A host with GPUs; says why not otherwise.
bool is_gpu_host(const Subject& s, Verdicts& out) {
  if (has_gpu(s.facts)) return true;
  out.skip("no NVIDIA GPU on the PCI bus");
  return false;
}

/// A GPU host whose driver is loaded; says why not otherwise.
const facts::Driver* loaded_driver(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return nullptr;
  if (!s.facts.driver) out.skip("no NVIDIA driver is loaded");
  return s.facts.driver ? &*s.facts.driver : nullptr;
}

std::string model_name(const Subject& s, const PciGpu& gpu) {
  const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
  return model ? fmt::format("{} ({})", model->name, gpu.slot)
               : fmt::format("10de:{} ({})", gpu.device_id, gpu.slot);
}

void pci_present(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  std::vector<std::string> names;
  for (const PciGpu& gpu : s.facts.pci_gpus) names.push_back(model_name(s, gpu));
  out.pass(names.empty() ? "GPUs without a place on the PCI bus" : list(names));
}

void nouveau_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  std::vector<std::string> seen;
  for (const char* module : {"nouveau", "nova_core", "nova_drm"})
    if (has(s.facts.modules, module)) seen.push_back(std::string("module ") + module);
  for (const PciGpu& gpu : s.facts.pci_gpus)
    if (gpu.driver == "nouveau" || gpu.driver.starts_with("nova"))
      seen.push_back(gpu.driver + " holds " + gpu.slot);
  if (!seen.empty())
    out.fail(gpu_severity(s), "the nouveau driver holds the GPU: NVIDIA's cannot load", list(seen),
             "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/nouveau.conf && "
             "update-initramfs -u "
             "(or dracut -f), then reboot");
}

void nouveau_blacklist(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.driver) return out.skip("NVIDIA's driver is loaded");
  if (!s.facts.nouveau_blacklisted && is_loadable(s.facts, "nouveau"))
    out.fail(Severity::note, "nouveau may take the GPU at the next boot",
             "no 'blacklist nouveau' in /etc/modprobe.d",
             "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > /etc/modprobe.d/nouveau.conf && "
             "update-initramfs -u "
             "(or dracut -f)");
}

void conflicting_bindings(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  for (const PciGpu& gpu : s.facts.pci_gpus) {
    const std::string& driver = gpu.driver;
    if (driver.empty() || driver == "nvidia" || driver == "nouveau" || driver.starts_with("nova")) continue;
    out.fail(Severity::warning, fmt::format("a GPU is bound to {}: containers cannot use it", driver),
             model_name(s, gpu),
             fmt::format("if it is not meant for virtual machines: driverctl unset-override {}", gpu.slot));
  }
}

void installed(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.driver || s.facts.driver_installed) {
    return out.pass("driver " + (s.facts.driver ? s.facts.driver->version : *s.facts.driver_installed));
  }
  out.fail(
      gpu_severity(s), "no NVIDIA driver is installed for this kernel: the cluster will have no GPUs",
      "no nvidia module is loaded or lies under /lib/modules/" + s.facts.kernel,
      "`gpuadm init --driver install` installs one; or do it yourself (Ubuntu: apt-get install "
      "nvidia-headless-580-server-open nvidia-utils-580-server; Debian: nvidia-driver), reboot, run again");
}

void module_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.driver)
    return out.fail(gpu_severity(s), "the nvidia module is not loaded",
                    s.facts.driver_installed ? "version " + *s.facts.driver_installed + " lies on disk"
                                             : "no /proc/driver/nvidia",
                    "modprobe nvidia && modprobe nvidia_uvm; dmesg | grep -i nvidia says why where it fails");
  if (!is_loaded(s.facts, "nvidia_uvm"))
    out.fail(Severity::warning, "the nvidia_uvm module is not loaded: CUDA programs fail",
             "nvidia is loaded, nvidia_uvm is not", "modprobe nvidia_uvm, or nvidia-modprobe -c0 -u");
}

void version_mismatch(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  const std::string remedy =
      "reboot, or unload the modules while no GPU program runs and load them again; then hold the "
      "packages of the driver (apt-mark hold PACKAGE)";
  if (driver->library && *driver->library != driver->version)
    return out.fail(gpu_severity(s), "the NVIDIA libraries are of another version than the loaded module",
                    fmt::format("module {}, libnvidia-ml {}", driver->version, *driver->library), remedy);
  if (s.facts.nvidia_smi_says.find("version mismatch") != std::string::npos)
    return out.fail(gpu_severity(s), "the NVIDIA libraries are of another version than the loaded module",
                    s.facts.nvidia_smi_says, remedy);
  if (s.facts.driver_installed && *s.facts.driver_installed != driver->version)
    out.fail(Severity::warning,
             "another driver is installed than the one that is loaded: it comes with the next reboot",
             fmt::format("loaded {}, installed {}", driver->version, *s.facts.driver_installed), remedy);
}

void branch_eol(const Subject& s, Verdicts& out) {
  const auto* driver = loaded_driver(s, out);
  if (!driver) return;
  const auto branch = branch_of(driver->version);
  const auto row = branch ? s.data.branches.find(*branch) : s.data.branches.end();
  if (row == s.data.branches.end())
    return out.unknown(fmt::format("nothing is known of branch {}", branch.value_or(0)));
  if (row->second.ended)
    return out.fail(
        Severity::warning, fmt::format("driver branch {} gets no fixes any more", *branch),
        row->second.status,
        "plan an upgrade to a long-term or production branch, where this GPU's generation is still served");
  out.pass(fmt::format("branch {}: {}", *branch, row->second.status));
}

void arch_supported(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const std::string version =
      s.facts.driver ? s.facts.driver->version : s.facts.driver_installed.value_or("");
  const auto branch = branch_of(version);
  if (!branch) return out.skip("no NVIDIA driver is installed");
  std::set<std::string> unknown;
  for (const PciGpu& gpu : s.facts.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model) {
      unknown.insert(gpu.device_id);
    } else if (model->last_branch && *branch > *model->last_branch) {
      out.fail(
          gpu_severity(s),
          fmt::format("driver {} does not serve the {} generation any more", version, model->architecture),
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
  for (const PciGpu& gpu : s.facts.pci_gpus) {
    const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
    if (!model) continue;
    const bool wrong = open ? model->flavor == "proprietary" : model->flavor == "open-only";
    if (wrong)
      out.fail(gpu_severity(s),
               fmt::format("the {} kernel modules do not drive this GPU", open ? "open" : "proprietary"),
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
    return out.fail(Severity::note, fmt::format("images with CUDA {} need a newer driver", newest.major),
                    fmt::format("{} runs images up to CUDA {}.x; {} needs {}", driver->version, best->major,
                                newest.major, newest.text),
                    "upgrade the driver, use images with an older CUDA, or cuda-compat on data-center GPUs");
  out.pass(fmt::format("images up to CUDA {}.x run", best->major));
}

constexpr std::array rows = std::to_array<Check>({
    {"gpu.pci.present", "there are NVIDIA GPUs on the PCI bus", "without one the checks of GPUs do not apply",
     preflight | node, pci_present},
    {"gpu.driver.nouveau-loaded", "nouveau does not hold the GPU", "two drivers cannot have one device",
     preflight | node, nouveau_loaded},
    {"gpu.driver.nouveau-blacklist", "nouveau stays away at boot", "it would take the GPU first", preflight,
     nouveau_blacklist},
    {"gpu.driver.conflicting-bindings", "the GPUs are bound to NVIDIA's driver",
     "one bound to vfio-pci is for virtual machines", preflight | node, conflicting_bindings},
    {"gpu.driver.installed", "an NVIDIA driver is installed", "containers use the host's driver",
     preflight | node, installed},
    {"gpu.driver.module-loaded", "the driver's modules are loaded", "nothing reaches the GPU without them",
     preflight | node, module_loaded},
    {"gpu.driver.version-mismatch", "module and libraries are of one version",
     "an upgrade without a reboot stops every GPU program", preflight | node, version_mismatch},
    {"gpu.driver.branch-eol", "the driver's branch is maintained", "an ended one gets no security fixes",
     preflight | node, branch_eol},
    {"gpu.driver.arch-supported", "the driver serves this generation of GPU",
     "old generations were dropped one by one", preflight | node, arch_supported},
    {"gpu.driver.module-flavor", "the kernel modules are of the flavor that the GPU needs",
     "the newest GPUs need the open modules, those before Turing the proprietary ones", preflight | node,
     module_flavor},
    {"gpu.driver.min-for-cuda", "the driver is new enough for the images of today",
     "an image brings its own CUDA", preflight | node, min_for_cuda},
});

}  // namespace

std::span<const Check> driver_checks() {
  return rows;
}

}  // namespace checks
