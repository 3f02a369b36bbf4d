#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Drivers whose modules are built on the host, for each kernel.
namespace checks {

namespace {

using facts::Facts;

/// Versions of the driver in DKMS: directories /var/lib/dkms/nvidia*/VERSION, except those of GPUDirect
/// Storage.
std::vector<std::string> dkms_trees(const Facts& facts) {
  std::vector<std::string> trees;
  for (const auto& [path, kind] : facts.software.paths)
    if (kind == "directory" && path.starts_with("/var/lib/dkms/nvidia") &&
        !path.starts_with("/var/lib/dkms/nvidia-fs/") && std::ranges::count(path, '/') == 5 &&
        base::Version::parse(path.substr(path.rfind('/') + 1)))
      trees.push_back(path);
  return trees;
}

/// A GPU host whose driver is built by DKMS; skipped with the reason otherwise.
bool uses_dkms(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return false;
  if (dkms_trees(s.facts).empty()) out.skip("the driver is not built by DKMS");
  return !dkms_trees(s.facts).empty();
}

/// Whether the link /var/lib/dkms/NAME/kernel-RELEASE-MACHINE has a target: DKMS creates it when it installs
/// a module.
bool is_installed(const Facts& facts, const std::string& tree) {
  const std::string link =
      fmt::format("{}/kernel-{}-", tree.substr(0, tree.rfind('/')), facts.kernel.release);
  const auto place = facts.software.paths.lower_bound(link);
  return place != facts.software.paths.end() && place->first.starts_with(link);
}

/// Fedora's way to build the modules for each kernel (RPM Fusion): the package that has their source; empty:
/// it is not installed.
std::string akmod_of(const Facts& facts) {
  for (const auto& [name, package] : facts.software.packages)
    if (package.installed && name.starts_with("akmod-nvidia")) return name + " " + package.version;
  return {};
}

/// "; its log: ERROR" of a build that failed; empty: there is none.
std::string why_not_built(const Facts& facts) {
  const auto words = last_line(facts.nvidia.build_log, {});
  return words ? "; its log: " + base::printable(base::trim(words->line), 300) : std::string();
}

void dkms_status(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (const std::string akmod = akmod_of(s.facts); !akmod.empty()) {
    if (s.facts.nvidia.driver || s.facts.nvidia.driver_installed)
      return out.pass(akmod + " is built for the running kernel");
    return out.fail(
        gpu_severity(s), "akmods has not built the driver for the running kernel",
        fmt::format("{} is installed, and no nvidia module is in /lib/modules/{}{}", akmod,
                    s.facts.kernel.release, why_not_built(s.facts)),
        "akmods --force && modprobe nvidia; if it fails, read /var/cache/akmods/nvidia/*.failed.log");
  }
  if (dkms_trees(s.facts).empty()) return out.skip("the driver is not built by DKMS");
  std::string built;
  std::vector<std::string> without;
  for (const std::string& tree : dkms_trees(s.facts)) {
    if (is_installed(s.facts, tree)) return;
    const std::string name = tree.substr(14);
    if (s.facts.software.paths.contains(tree + "/" + s.facts.kernel.release))
      built = name;
    else
      without.push_back(name);
  }
  // A loaded driver was installed in another way, for example with modules that a package contains.
  const Severity severity = s.facts.nvidia.driver ? Severity::warning : gpu_severity(s);
  if (!built.empty())
    return out.fail(severity, "DKMS has built the driver for the running kernel but not installed it",
                    fmt::format("{} is built for {}", built, s.facts.kernel.release),
                    fmt::format("dkms install {} -k {}", built, s.facts.kernel.release));
  out.fail(severity, "DKMS has not built the driver for the running kernel",
           fmt::format("{} lacks {}{}", list(without), s.facts.kernel.release, why_not_built(s.facts)),
           "dkms autoinstall; if it fails, read /var/lib/dkms/nvidia*/*/build/make.log");
}

void kernel_headers(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  const bool dkms = !dkms_trees(s.facts).empty();
  if (!dkms && (s.facts.nvidia.driver || s.facts.nvidia.driver_installed))
    return out.skip("the installed driver does not need to be built");
  const std::string folder = "/lib/modules/" + s.facts.kernel.release + "/build";
  if (!s.facts.software.paths.contains(folder))
    out.fail(dkms ? Severity::warning : gpu_severity(s),
             "the headers of the running kernel are missing: no driver can be built for it", "no " + folder,
             "@kernel-headers@");
}

void gcc_mismatch(const Subject& s, Verdicts& out) {
  if (!uses_dkms(s, out)) return;
  if (!s.facts.nvidia.gcc) return out.skip("gcc is not installed");
  const auto ours = base::Version::parse(*s.facts.nvidia.gcc),
             kernels = base::Version::parse(s.facts.kernel.compiler);
  if (!ours || !kernels) return out.unknown("the kernel's compiler could not be read");
  if (ours->major == kernels->major) return;
  const std::string own = fmt::format("gcc-{}", kernels->major);
  if (s.facts.software.paths.contains("/usr/bin/" + own))
    return out.pass(own + " is also installed, and DKMS uses it");
  out.fail(Severity::warning, "the kernel was built with another gcc than the installed one",
           fmt::format("kernel: gcc {}, installed: gcc {}", s.facts.kernel.compiler, *s.facts.nvidia.gcc),
           fmt::format("@install@ {}; DKMS then uses the kernel's compiler", own));
}

void build_tools(const Subject& s, Verdicts& out) {
  if (!uses_dkms(s, out)) return;
  std::vector<std::string> missing;
  for (const char* tool : {"dkms", "gcc", "make", "ld"})
    if (!has(s.facts.software.tools, tool)) missing.emplace_back(tool);
  if (!missing.empty())
    out.fail(Severity::warning, "programs for building the driver are missing", list(missing),
             "@build-tools@");
}

constexpr std::array gpu_build_rows = std::to_array<Check>({
    {"gpu.driver.dkms-status", "DKMS has built the driver for this kernel",
     "a new kernel has no driver until it is built",
     "pci paths /proc/sys/kernel/osrelease driver-build-log packages", preflight | node, dkms_status},
    {"gpu.driver.kernel-headers", "the kernel's headers are installed", "a driver is built against them",
     "pci paths /proc/sys/kernel/osrelease", preflight | node, kernel_headers},
    {"gpu.driver.gcc-mismatch", "the compiler matches the kernel's",
     "modules built with another compiler may not load", "pci gcc /proc/version paths", preflight | node,
     gcc_mismatch},
    {"gpu.driver.build-tools", "the driver can be built", "DKMS builds it for each kernel", "pci tools paths",
     preflight | node, build_tools},
});

}  // namespace

std::span<const Check> gpu_build_checks() {
  return gpu_build_rows;
}

}  // namespace checks
