#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

/// Which driver holds a GPU, and whether the kernel accepts NVIDIA's.
namespace checks {

namespace {

using facts::PciGpu;

/// Drivers of the kernel's own for NVIDIA's GPUs, as plain_name writes them.
constexpr std::array<std::string_view, 5> other_drivers = {"nouveau", "novacore", "novadrm", "nova",
                                                           "nvidiafb"};
/// Drivers that keep a device for a virtual machine.
constexpr std::array<std::string_view, 5> for_guests = {"vfiopci", "nvgracegpuvfiopci", "pcistub",
                                                        "xenpciback", "vfiopcicore"};

/// The name of a driver or a module without case and separators: "NovaCore" is the module nova_core.
std::string plain_name(std::string_view name) {
  std::string plain = base::lower(name);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  return plain;
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, plain_name(name)) != names.end();
}

/// The module of a driver of other_drivers.
std::string module_of(std::string_view driver) {
  const std::string plain = plain_name(driver);
  return plain == "novacore" || plain == "nova" ? "nova_core" : plain == "novadrm" ? "nova_drm" : plain;
}

/// The modules of the kernel's own drivers that are loaded or hold a GPU.
std::set<std::string> loaded_others(const facts::Facts& facts) {
  std::set<std::string> modules;
  for (const std::string& module : facts.kernel.modules)
    if (is_one_of(other_drivers, module)) modules.insert(module_of(module));
  for (const PciGpu& gpu : facts.nvidia.pci_gpus)
    if (is_one_of(other_drivers, gpu.driver)) modules.insert(module_of(gpu.driver));
  return modules;
}

/// How to keep modules from being loaded at the next boot.
std::string blacklist_line(const Subject& s, const std::set<std::string>& modules) {
  std::string lines;
  std::set<std::string> wanted = modules;
  if (wanted.contains("nova_core")) wanted.insert("nova_drm");
  for (const std::string& module : wanted)
    if (!s.facts.nvidia.blacklisted.contains(module))
      lines +=
          fmt::format("blacklist {}\\n{}", module, module == "nouveau" ? "options nouveau modeset=0\\n" : "");
  if (lines.empty()) return "@rebuild-initramfs@";
  return fmt::format("printf '{}' > /etc/modprobe.d/{}.conf && @rebuild-initramfs@", lines,
                     modules.contains("nouveau") ? "nouveau" : *modules.begin());
}

void nouveau_loaded(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const std::set<std::string> modules = loaded_others(s.facts);
  if (modules.empty()) return;
  std::vector<std::string> seen;
  for (const std::string& module : s.facts.kernel.modules)
    if (is_one_of(other_drivers, module)) seen.push_back("module " + module);
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus)
    if (is_one_of(other_drivers, gpu.driver)) seen.push_back(gpu.driver + " holds " + gpu.slot);
  const std::string first = modules.contains("nova_core") ? "nova_core" : *modules.begin();
  if (s.facts.nvidia.blacklisted.contains(first))
    seen.push_back(fmt::format("{} is blacklisted in /etc/modprobe.d, but not in the initramfs", first));
  out.fail(gpu_severity(s),
           fmt::format("the {} driver is bound to the GPU: NVIDIA's driver cannot load", first), list(seen),
           blacklist_line(s, modules) + ", then reboot");
}

void nouveau_blacklist(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.driver) return out.skip("NVIDIA's driver is loaded");
  std::set<std::string> modules;
  for (const char* module : {"nouveau", "nova_core"})
    if (!s.facts.nvidia.blacklisted.contains(module) && is_loadable(s.facts, module)) modules.insert(module);
  if (!modules.empty())
    out.fail(Severity::note, fmt::format("{} may bind to the GPU at the next boot", *modules.rbegin()),
             fmt::format("no 'blacklist {}' in /etc/modprobe.d", *modules.rbegin()),
             blacklist_line(s, modules));
}

void conflicting_bindings(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    const std::string& driver = gpu.driver;
    if (driver.empty() || plain_name(driver) == "nvidia" || is_one_of(other_drivers, driver)) continue;
    out.fail(
        Severity::warning, fmt::format("a GPU is bound to {}: containers cannot use it", driver),
        model_name(s, gpu),
        is_one_of(for_guests, driver)
            ? fmt::format("if it is not meant for virtual machines: driverctl unset-override {}", gpu.slot)
            : fmt::format("echo {} > /sys/bus/pci/drivers/{}/unbind, then: modprobe nvidia; keep {} from "
                          "the GPU at boot (blacklist it in /etc/modprobe.d)",
                          gpu.slot, driver, driver));
  }
}

/// kernel/module/signing.c, security/lockdown/lockdown.c: the kernel does not take a module.
constexpr std::array<std::string_view, 6> rejections = {
    "Key was rejected",           "of unsigned module is rejected", "with unavailable key is rejected",
    "unsigned module loading is", "not signed with a trusted key",  "with unsupported crypto is rejected"};

void module_accepted(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.nvidia.driver) return out.pass("the driver is loaded");
  if (!s.facts.kernel.log) return out.unknown("the kernel's log could not be read");
  const auto lines = log_lines(s.facts, rejections);
  if (lines.empty()) return out.pass("the kernel has rejected no module");
  std::string why;
  if (s.facts.security.secure_boot.value_or(false)) why += "; Secure Boot is on";
  const std::string& line = s.facts.kernel.command_line.value_or("");
  const bool enforced = line.contains("module.sig_enforce");
  if (enforced) why += "; module.sig_enforce is on the kernel's command line";
  if (!s.facts.security.lockdown.empty() && s.facts.security.lockdown != "none")
    why += "; lockdown is " + s.facts.security.lockdown;
  out.fail(
      gpu_severity(s),
      "the kernel rejects the NVIDIA module: it is not signed with a key that the kernel trusts",
      last_of(lines) + why,
      runs_in_container(s.facts)
          ? "use a driver container with modules that the distribution signs (precompiled), or disable "
            "Secure Boot and module.sig_enforce"
          : "mokutil --import the key that signs the module (/var/lib/shim-signed/mok/MOK.der, "
            "/var/lib/dkms/mok.pub), reboot and confirm at the console; or @signed-modules@" +
                std::string(enforced ? "; or remove module.sig_enforce from the kernel's command line" : ""));
}

constexpr std::array gpu_binding_rows = std::to_array<Check>({
    {"gpu.driver.nouveau-loaded", "nouveau is not bound to the GPU", "two drivers cannot use one device",
     "pci /proc/modules /lib/modules/* /etc/modprobe.d/* /usr/lib/modprobe.d/*", preflight | node,
     nouveau_loaded},
    {"gpu.driver.nouveau-blacklist", "nouveau is not loaded at boot", "otherwise it binds to the GPU first",
     "pci /proc/modules /lib/modules/* /etc/modprobe.d/* /usr/lib/modprobe.d/*", preflight,
     nouveau_blacklist},
    {"gpu.driver.conflicting-bindings", "the GPUs are bound to NVIDIA's driver",
     "a GPU bound to vfio-pci is reserved for virtual machines", "pci", preflight | node,
     conflicting_bindings},
    {"gpu.driver.module-accepted", "the kernel accepts the signature of the driver's modules",
     "Secure Boot, lockdown and module.sig_enforce refuse other modules",
     "pci kernel-log /proc/cmdline /proc/driver/nvidia/version /sys/module/nvidia/version", preflight | node,
     module_accepted},
});

}  // namespace

std::span<const Check> gpu_binding_checks() {
  return gpu_binding_rows;
}

}  // namespace checks
