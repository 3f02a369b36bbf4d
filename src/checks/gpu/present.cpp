#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

std::string name_of_gpu(const Subject& s, const facts::PciGpu& gpu) {
  const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
  return model ? fmt::format("{} ({})", model->name, gpu.slot)
               : fmt::format("10de:{} ({})", gpu.device_id, gpu.slot);
}

bool has_gpu(const facts::Facts& host) {
  return !host.nvidia.pci_gpus.empty() || !host.nvidia.gpus.empty();
}

/// GPUs without a PCI device have their own checks: gpu.driver.wsl and gpu.driver.tegra.
bool is_other_platform(const facts::Facts& host) {
  return host.software.paths.contains("/dev/dxg") || host.software.paths.contains("/etc/nv_tegra_release");
}

/// Where a GPU was searched.
std::string searched(const facts::Facts& host) {
  const std::string& machine = host.os.virtualization.value_or("unknown");
  return fmt::format(
      "PCI bus: no device of vendor 10de (NVIDIA); passed through: {}; WSL: no /dev/dxg; Jetson: no "
      "/etc/nv_tegra_release",
      machine == "none"      ? "the host is not a virtual machine"
      : machine == "unknown" ? "unknown"
                             : fmt::format("none to this virtual machine ({})", machine));
}

std::string remedy_for(bool is_virtual) {
  return std::string(is_virtual ? "pass a GPU through to the virtual machine"
                                : "check the seat and the power of the GPU: lspci -d 10de:") +
         "; for a cluster without GPUs, set gpu.allocator: none in the cluster file";
}

Severity severity_in(const spec::Cluster& cluster) {
  return cluster.gpu.driver == spec::DriverPolicy::install ? Severity::blocker : Severity::warning;
}

bool wants_gpus(const spec::Cluster& cluster) {
  return cluster.gpu.allocator != spec::Allocator::none || cluster.gpu.driver == spec::DriverPolicy::install;
}

void present(const Subject& s, Verdicts& out) {
  std::vector<std::string> names;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus) names.push_back(name_of_gpu(s, gpu));
  if (has_gpu(s.facts)) return out.pass(names.empty() ? "GPUs without a PCI address" : list(names));
  if (s.stage != Stage::preflight || s.cluster.hosts.size() > 1 || !wants_gpus(s.cluster) ||
      is_other_platform(s.facts))
    return out.skip("the host has no NVIDIA GPU");
  if (s.facts.unread.contains("pci")) return out.unknown("the PCI bus could not be read");
  out.fail(severity_in(s.cluster), "the host has no NVIDIA GPU", searched(s.facts),
           remedy_for(s.facts.os.virtualization.value_or("none") != "none"));
}

/// Of several hosts, one with a GPU is enough.
void present_across(const Group& group, Verdicts& out) {
  std::vector<std::string> evidence;
  for (const auto& [name, host] : group.hosts) {
    if (has_gpu(*host) || is_other_platform(*host)) return;
    if (host->unread.contains("pci")) return out.unknown(name + ": the PCI bus could not be read");
    if (evidence.size() < 3) evidence.push_back(fmt::format("{}: {}", name, searched(*host)));
  }
  if (!wants_gpus(group.cluster)) return out.not_applicable("the cluster file has no GPUs");
  const bool are_nodes =
      std::ranges::any_of(group.hosts, [](const auto& one) { return one.second->kubernetes.kubelet_conf; });
  if (are_nodes) return out.skip("the hosts are nodes of a cluster without GPUs");
  out.fail(severity_in(group.cluster), "no host has an NVIDIA GPU", base::join(evidence, "\n"),
           remedy_for(false));
}

constexpr std::array gpu_present_rows = std::to_array<Check>({
    {"gpu.pci.present", "there is an NVIDIA GPU", "without one, the cluster cannot compute on GPUs", "pci",
     preflight | node, present, present_across},
});

}  // namespace

std::span<const Check> gpu_present_checks() {
  return gpu_present_rows;
}

}  // namespace checks
