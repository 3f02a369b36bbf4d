#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

/// "libnvidia-compute-580-server" and "nvidia-driver-580-open" are of branch 580; a package without a branch
/// in its name is of the branch of its version.
std::optional<int> branch_of_package(const std::string& name, const std::string& version) {
  static constexpr std::array<std::string_view, 8> stems = {
      "nvidia-driver",      "nvidia-headless",         "libnvidia-compute", "nvidia-dkms",
      "nvidia-kernel-dkms", "nvidia-kernel-open-dkms", "libcuda1",          "nvidia-driver-cuda"};
  if (std::ranges::none_of(stems, [&](std::string_view stem) {
        return name == stem ||
               (name.starts_with(stem) && name.size() > stem.size() + 3 && name[stem.size()] == '-' &&
                name.find_first_of("0123456789") == stem.size() + 1);
      }))
    return std::nullopt;
  std::string text = version;
  if (const auto epoch = text.find(':'); epoch != std::string::npos) text = text.substr(epoch + 1);
  return branch_of(text.substr(0, text.find_first_of("-~+")));
}

void multiple_installs(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  std::map<int, std::string> sources;
  for (const auto& [name, package] : s.facts.software.packages)
    if (package.installed)
      if (const auto branch = branch_of_package(name, package.version))
        sources.emplace(*branch, name + " " + package.version);
  std::vector<std::string> evidence;
  for (const auto& [branch, package] : sources) evidence.push_back(package);
  if (!sources.empty() && s.facts.software.paths.contains("/usr/bin/nvidia-uninstall"))
    evidence.emplace_back("/usr/bin/nvidia-uninstall of a .run file");
  if (evidence.size() > 1)
    out.fail(gpu_severity(s), "several drivers are installed", list(evidence),
             "keep one: @purge@ the packages of the others, or nvidia-uninstall for the .run file; then "
             "install the one again and reboot");
}

void runfile(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.software.paths.contains("/usr/bin/nvidia-uninstall"))
    out.fail(
        Severity::warning, "the driver was installed from a .run file: no package manager updates it",
        "/usr/bin/nvidia-uninstall",
        "nvidia-uninstall, then install the driver's packages; without DKMS a new kernel loses the driver");
}

/// Packages that follow the newest branch.
constexpr std::array unpinned = {"cuda-drivers", "nvidia-open", "nvidia-driver", "nvidia-driver-assistant"};

void repo_pinned(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const bool pin = std::ranges::any_of(s.facts.software.paths, [](const auto& entry) {
    return entry.first.starts_with("/etc/apt/preferences.d/");
  });
  const bool pins = std::ranges::any_of(s.facts.software.packages, [](const auto& entry) {
    return entry.first.starts_with("nvidia-driver-pinning-") && entry.second.installed;
  });
  for (const char* name : unpinned) {
    const auto package = s.facts.software.packages.find(name);
    if (package == s.facts.software.packages.end() || !package->second.installed) continue;
    if (package->second.held) return out.pass(std::string(name) + " is held");
    if (pin || pins) return out.pass("a pin holds the branch");
    return out.fail(Severity::note, "the next package upgrade may install another driver branch",
                    fmt::format("{} {}", name, package->second.version),
                    fmt::format("@hold@ {}, or install nvidia-driver-pinning-BRANCH", name));
  }
  out.skip("no package that follows the newest branch is installed");
}

void dangling(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.nvidia.dangling_libraries.empty())
    out.fail(gpu_severity(s), "links to the driver's libraries are dangling",
             list(s.facts.nvidia.dangling_libraries),
             "ldconfig; if they remain, reinstall the driver's libraries: "
             "@reinstall-driver-libraries@");
}

void stubs(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  for (const auto& [folder, file] : s.facts.nvidia.linker_folders)
    if (folder.find("stubs") != std::string::npos)
      out.fail(Severity::warning, "programs may load CUDA's stub library instead of the driver",
               fmt::format("{} in {}", folder, file),
               fmt::format("remove the line from {}, then: ldconfig", file));
}

/// The last CUDA major that supports GPUs below a compute capability (release notes of CUDA 11 to 13).
struct Last {
  base::Version below;
  int cuda;
};
constexpr std::array lasts = {Last{{3, 5}, 10}, Last{{5, 0}, 11}, Last{{7, 5}, 12}};

/// Each compute capability and a GPU with it: from the driver, and for GPUs that it does not list from the
/// list of models.
std::map<std::string, std::string> capabilities_of(const Subject& s) {
  std::map<std::string, std::string> found;
  std::set<std::string> listed;
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.compute_capability) {
      found.emplace(*gpu.compute_capability, name_of(gpu));
      listed.insert(gpu.bus_id);
    }
  // Without the driver's details, the GPUs on the bus cannot be matched.
  if (!found.empty() && listed.contains("")) return found;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus)
    if (const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
        model && !listed.contains(gpu.slot) && !model->compute_capability.empty())
      found.emplace(model->compute_capability, model->name);
  return found;
}

void cuda_arch(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  std::set<std::string> needs;
  for (const auto& [text, name] : capabilities_of(s)) {
    const auto capability = base::Version::parse(text);
    if (!capability) continue;
    const auto last = std::ranges::find_if(lasts, [&](const Last& row) { return *capability < row.below; });
    if (last != lasts.end())
      out.fail(Severity::note,
               fmt::format("this GPU is not supported by images with CUDA {} and newer", last->cuda + 1),
               fmt::format("{}, compute capability {}", name, text),
               fmt::format("use images with CUDA {}.x or older on this host", last->cuda));
    needs.insert(text + (*capability >= base::Version{10, 0} ? " (CUDA 12.8 and newer)" : ""));
  }
  if (needs.empty()) return out.unknown("the compute capability of the GPUs is not known");
  if (out.silent()) out.pass("compute capability " + list({needs.begin(), needs.end()}));
}

void gsp_firmware(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  static constexpr std::array<std::string_view, 2> signs = {"Direct firmware load for nvidia/",
                                                            "RmFetchGspRmImages: No firmware image found"};
  auto lines = log_lines(s.facts, signs);
  std::erase_if(lines, [](const std::string& line) {
    return line.find("gsp") == std::string::npos && line.find("Gsp") == std::string::npos;
  });
  const std::string remedy =
      "install the firmware of the driver's version (@driver-firmware@), "
      "then: modprobe -r nvidia && modprobe nvidia";
  if (!lines.empty())
    return out.fail(gpu_severity(s), "the GPU's firmware (GSP) was not found by the driver", lines.back(),
                    remedy);
  for (const facts::Gpu& gpu : s.facts.nvidia.gpus)
    if (const auto version = word(gpu, "gsp_firmware_version")) return out.pass("firmware " + *version);
  if (!s.facts.nvidia.driver) return out.skip("no NVIDIA driver is loaded");
  if (!s.facts.nvidia.driver->open_modules.value_or(false) || !s.facts.nvidia.gpus.empty())
    return out.skip("the GPUs do not need it");
  // The firmware may be elsewhere; a driver that cannot find it logs that.
  if (const auto& log = s.facts.kernel.log; log && !log->empty() && log->front().seconds < 120)
    return out.pass("no such line in the kernel's log since boot");
  const std::string folder = "/lib/firmware/nvidia/" + s.facts.nvidia.driver->version + "/";
  if (std::ranges::none_of(s.facts.software.paths,
                           [&](const auto& path) { return path.first.starts_with(folder); }))
    out.fail(gpu_severity(s), "the driver's firmware (GSP) is missing", "no gsp_*.bin in " + folder, remedy);
}

constexpr std::array gpu_install_rows = std::to_array<Check>({
    {"gpu.driver.cuda-arch-supported", "the current CUDA supports this GPU",
     "new major versions drop old generations", "pci nvidia-smi nvidia-smi-fields", preflight | node,
     cuda_arch},
    {"gpu.driver.gsp-firmware", "the firmware for the GPUs is present",
     "the open kernel modules do not work without it", "pci kernel-log nvidia-smi nvidia-smi-xml paths",
     preflight | node, gsp_firmware},
    {"gpu.driver.multiple-installs", "only one driver is installed", "two overwrite each other's files",
     "pci packages paths", preflight | node, multiple_installs},
    {"gpu.driver.runfile-uninstall", "the driver was installed from packages",
     "a .run file's installation is not upgraded", "pci paths", preflight | node, runfile},
    {"gpu.driver.repo-pinned", "the driver stays on its branch", "a change of the branch needs a reboot",
     "pci packages paths", preflight | node, repo_pinned},
    {"gpu.driver.library-soname-dangling", "links to the driver's libraries are valid",
     "programs load the libraries through them", "pci gpu-libraries-dangling", preflight | node, dangling},
    {"gpu.driver.stub-in-path", "CUDA's stub libraries are not in the linker's path",
     "a program that loads a stub finds no GPU", "pci /etc/ld.so.conf.d/*", preflight | node, stubs},
});

}  // namespace

std::span<const Check> gpu_install_checks() {
  return gpu_install_rows;
}

}  // namespace checks
