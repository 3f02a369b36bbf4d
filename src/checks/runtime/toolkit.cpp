#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <array>

namespace checks {

namespace {

/// init fails on a host with a GPU and without nvidia-ctk if the run does not install it, regardless of the
/// allocator (playbooks/gpu/toolkit.yaml, gpu.toolkit.present).
bool is_out_of_reach(const Subject& s) {
  return s.stage == Stage::preflight && has_gpu(s.facts) && !s.facts.nvidia.ctk &&
         supply_of(s, s.decisions.of(s.host.name).toolkit) == spec::Supply::none;
}

/// Before an installation: the source of the run.
void to_come(const Subject& s, Verdicts& out) {
  constexpr const char* seen = "neither nvidia-ctk nor nvidia-container-runtime is in PATH";
  const std::string message = "the NVIDIA Container Toolkit is not installed";
  switch (supply_of(s, s.decisions.of(s.host.name).toolkit)) {
    case spec::Supply::repositories:
      return out.fail(Severity::warning, message + " yet", seen, "gpu.toolkit.install");
    case spec::Supply::bundle:
      return out.fail(Severity::warning, message + " yet; the bundle contains it", seen,
                      "gpu.toolkit.from-bundle");
    case spec::Supply::skipped:
      return out.fail(Severity::warning,
                      message + ", and this run skips its installation: pods cannot use GPUs", seen,
                      "omit --skip-phases gpu/toolkit, or: apt-get install nvidia-container-toolkit");
    case spec::Supply::open:
    case spec::Supply::none:
      break;
  }
  out.fail(Severity::warning, message + ", and only the bundle can install it", seen,
           "gpuadm doctor --bundle DIR checks whether the bundle contains it");
}

void installed(const Subject& s, Verdicts& out) {
  if (is_out_of_reach(s))
    return out.fail(
        Severity::blocker,
        "the NVIDIA Container Toolkit is not installed, and the bundle does not contain it",
        "nvidia-ctk is not in PATH",
        "add its packages to the bundle (gpuadm bundle create without --skip toolkit, or bundle extend "
        "--package), install nvidia-container-toolkit on the host, or: --skip-phases "
        "gpu/toolkit,gpu/cdi");
  if (!is_ready_for_toolkit(s, out)) return;
  if (s.facts.nvidia.ctk || has(s.facts.software.tools, "nvidia-container-runtime"))
    return out.pass("NVIDIA Container Toolkit " + s.facts.nvidia.ctk.value_or(""));
  if (s.stage == Stage::preflight) return to_come(s, out);
  out.fail(gpu_severity(s), "the NVIDIA Container Toolkit is not installed: pods cannot use GPUs",
           "neither nvidia-ctk nor nvidia-container-runtime is in PATH",
           "add NVIDIA's repository (https://nvidia.github.io/libnvidia-container) and: apt-get install "
           "nvidia-container-toolkit");
}

void runtime_registered(const Subject& s, Verdicts& out) {
  if (!is_ready_for_toolkit(s, out)) return;
  if (!s.facts.nvidia.ctk && !has(s.facts.software.tools, "nvidia-container-runtime"))
    return out.skip("the NVIDIA Container Toolkit is not installed");
  if (!uses(s, spec::Engine::containerd) || !s.facts.runtime.containerd)
    return out.not_applicable("the runtime is not containerd");
  if (s.facts.runtime.containerd->runtimes.contains("nvidia"))
    return out.pass("containerd has a runtime called nvidia");
  out.fail(s.stage == Stage::node ? Severity::blocker : Severity::note,
           "the nvidia runtime is not configured in containerd yet",
           "no runtime is called nvidia in its configuration",
           s.stage == Stage::node
               ? "nvidia-ctk runtime configure --runtime=containerd && systemctl restart containerd"
               : "runtime.containerd.config");
}

void legacy(const Subject& s, Verdicts& out) {
  std::vector<std::string> seen;
  for (const char* name : {"nvidia-docker", "nvidia-docker2"})
    if (const auto place = s.facts.software.packages.find(name);
        place != s.facts.software.packages.end() && place->second.installed)
      seen.push_back(fmt::format("package {} {}", name, place->second.version));
  if (is_active(s.facts, "nvidia-docker.service")) seen.emplace_back("nvidia-docker.service runs");
  if (s.facts.software.paths.contains("/var/lib/nvidia-docker")) seen.emplace_back("/var/lib/nvidia-docker");
  if (!seen.empty())
    out.fail(Severity::warning, "nvidia-docker is still installed; the NVIDIA Container Toolkit replaces it",
             list(seen),
             "apt-get purge nvidia-docker nvidia-docker2, rm -r /var/lib/nvidia-docker, install "
             "nvidia-container-toolkit");
}

constexpr std::array toolkit_rows = std::to_array<Check>({
    {"nct.installed", "the NVIDIA Container Toolkit is installed",
     "it makes the driver and the devices available in containers", "pci tools nvidia-ctk", preflight | node,
     installed},
    {"nct.runtime-registered", "the nvidia runtime is configured in the container runtime",
     "pods select it by its RuntimeClass",
     "pci tools nvidia-ctk containerd-dump /etc/containerd/config.toml /etc/docker/daemon.json "
     "docker-info /etc/crio/*",
     preflight | node, runtime_registered},
    {"nct.legacy-nvidia-docker", "nvidia-docker is not installed",
     "its plugin and volumes conflict with the toolkit",
     "pci tools nvidia-ctk packages paths units containerd-dump", preflight | node, legacy},
});

}  // namespace

std::span<const Check> toolkit_checks() {
  return toolkit_rows;
}

}  // namespace checks
