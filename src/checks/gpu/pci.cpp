#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace checks {

namespace {

using facts::Gpu;
using facts::PciGpu;

/// The PCI bus of a virtual machine is virtual.
bool is_virtual(const facts::Facts& facts) {
  if (facts.os.virtualization && *facts.os.virtualization != "none") return true;
  return std::ranges::any_of(facts.nvidia.gpus, [](const Gpu& gpu) {
    return word(gpu, "gpu_virtualization_mode/virtualization_mode").value_or("None") != "None";
  });
}

bool has_pci(const Subject& s, Verdicts& out) {
  if (s.facts.nvidia.pci_gpus.empty() && is_gpu_host(s, out)) out.skip("the GPUs are not on the PCI bus");
  return !s.facts.nvidia.pci_gpus.empty();
}

void count_of_board(const Subject& s, Verdicts& out) {
  if (!has_pci(s, out)) return;
  if (s.facts.nvidia.nvswitches.empty())
    return out.skip("the host has no NVSwitch, and the number of GPUs is not known");
  if (is_virtual(s.facts)) return out.skip("a virtual machine has only the GPUs that are passed through");
  if (s.facts.nvidia.pci_gpus.size() % 8 != 0)
    out.fail(gpu_severity(s), "fewer than eight GPUs are on the bus of a board with NVSwitches",
             fmt::format("{} GPUs, {} NVSwitches", s.facts.nvidia.pci_gpus.size(),
                         s.facts.nvidia.nvswitches.size()),
             "power-cycle the machine; if the GPU is still missing, check its seat");
}

/// Machines of one product with one GPU model have the same number of them.
void count_across(const Group& group, Verdicts& out) {
  std::map<std::string, std::map<std::size_t, std::vector<std::string>>> kinds;
  for (const auto& [name, f] : group.hosts)
    if (!f->nvidia.pci_gpus.empty() && !f->machine.product.empty() && !is_virtual(*f))
      kinds[f->machine.vendor + " " + f->machine.product +
            " with 10de:" + f->nvidia.pci_gpus.front().device_id][f->nvidia.pci_gpus.size()]
          .push_back(name);
  for (const auto& [kind, counts] : kinds) {
    if (counts.size() < 2) continue;
    std::vector<std::string> evidence;
    for (const auto& [number, names] : counts) evidence.push_back(fmt::format("{}: {}", number, list(names)));
    out.fail(Severity::warning, "machines of one kind have different numbers of GPUs",
             fmt::format("{}; {}", kind, base::join(evidence, "; ")),
             "power-cycle the machines with fewer GPUs; check dmesg | grep -E 'NVRM|pcieport' on them");
  }
}

/// The number of the BAR in a message of the kernel's drivers/pci/setup-res.c. The driver needs 0 to 5; 6 is
/// the ROM, higher ones (newer kernels: "VF BAR") are of virtual functions, and "[io" is an I/O port window.
std::optional<char> window_of(std::string_view line) {
  static constexpr std::string_view start = ": BAR ";
  const std::size_t at = line.find(start);
  if (at == std::string_view::npos || line.find("[mem ") == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + start.size());
  const bool own = rest.size() > 1 && rest[0] >= '0' && rest[0] <= '5' && (rest[1] == ' ' || rest[1] == ':');
  return own ? std::optional(rest[0]) : std::nullopt;
}

void bar_size(const Subject& s, Verdicts& out) {
  if (!has_pci(s, out) || !has_log(s, out)) return;
  static constexpr std::array<std::string_view, 4> signs = {"no space", "failed to assign", "can't assign",
                                                            ": assigned"};
  // The kernel tries several times; the last message on a BAR counts.
  std::map<std::pair<std::string, char>, std::string> without;
  for (const std::string& line : log_lines(s.facts, signs))
    for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
      const auto window = window_of(line);
      if (!window || line.find(gpu.slot) == std::string::npos) continue;
      if (line.find(": assigned") == std::string::npos)
        without[{gpu.slot, *window}] = line;
      else
        without.erase({gpu.slot, *window});
    }
  static constexpr std::array<std::string_view, 1> invalid = {
      "This PCI I/O region assigned to your NVIDIA device is invalid"};
  const auto refused = log_lines(s.facts, invalid);
  if (!without.empty() || !refused.empty())
    out.fail(Severity::warning, "the firmware has assigned no memory window to a GPU",
             without.empty() ? refused.back() : without.begin()->second,
             "enable 'Above 4G decoding' in the firmware's setup, or boot with pci=realloc");
}

void aer(const Subject& s, Verdicts& out) {
  if (!has_pci(s, out)) return;
  bool any = false;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    if (!gpu.aer) continue;
    any = true;
    const double minutes = std::max(1.0, s.facts.kernel.uptime.value_or(0) / 60);
    const bool many = s.facts.kernel.uptime && static_cast<double>(gpu.aer->correctable) > minutes;
    if (gpu.aer->fatal > 0 || gpu.aer->nonfatal > 0 || many)
      out.fail(Severity::warning, fmt::format("the PCI Express link of {} has errors", gpu.slot),
               fmt::format("{} fatal, {} nonfatal, {} corrected", gpu.aer->fatal, gpu.aer->nonfatal,
                           gpu.aer->correctable),
               "reseat the GPU or its riser and cables; watch dmesg | grep AER");
  }
  if (!any) out.skip("the GPUs do not report it");
}

void link_width(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out,
                {"pci/pci_gpu_link_info/link_widths/current_link_width",
                 "pci/pci_gpu_link_info/link_widths/max_link_width"});
  if (is_virtual(s.facts)) return out.skip("a virtual machine's PCI bus is virtual");
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto now = number(gpu, "pci/pci_gpu_link_info/link_widths/current_link_width");
    const auto most = number(gpu, "pci/pci_gpu_link_info/link_widths/max_link_width");
    if (!now || !most) continue;
    any = true;
    if (*now < *most)
      out.fail(Severity::warning, fmt::format("{} has lost lanes of its PCI Express link", name_of(gpu)),
               fmt::format("x{:.0f} of x{:.0f}, {}", *now, *most, gpu.bus_id),
               "reseat the GPU or its riser; check the slot's bifurcation in the firmware's setup");
  }
  if (!any && out.silent()) out.skip("the GPUs do not report it");
}

void link_gen(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(
      s, out,
      {"pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"});
  if (is_virtual(s.facts)) return out.skip("a virtual machine's PCI bus is virtual");
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const std::string path = "pci/pci_gpu_link_info/pcie_gen/";
    const auto now = number(gpu, path + "current_link_gen"), most = number(gpu, path + "max_link_gen");
    const auto able = number(gpu, path + "max_device_link_gen");
    if (!now || !most) continue;
    any = true;
    // An idle GPU slows down its link to save power.
    const bool busy = number(gpu, "utilization/gpu_util").value_or(0) >= 50;
    if (busy && *now < *most)
      out.fail(Severity::warning,
               fmt::format("{} is busy and its PCI Express link runs at a low speed", name_of(gpu)),
               fmt::format("generation {:.0f} of {:.0f}", *now, *most),
               "reseat the GPU or its riser; check the slot's speed in the firmware's setup");
    else if (able && *most < *able)
      out.fail(Severity::note, fmt::format("{} is in a slot that is slower than the GPU", name_of(gpu)),
               fmt::format("slot of generation {:.0f}, GPU of {:.0f}", *most, *able),
               "check the slot's speed in the firmware's setup, or move the GPU to a faster slot");
  }
  if (!any && out.silent()) out.skip("the GPUs do not report it");
}

void numa_affinity(const Subject& s, Verdicts& out) {
  if (!has_pci(s, out)) return;
  if (s.facts.machine.numa_nodes.empty()) return out.unknown("the NUMA nodes could not be read");
  if (s.facts.machine.numa_nodes == "0") return out.skip("the machine has one NUMA node");
  std::vector<std::string> lost;
  for (const PciGpu& gpu : s.facts.nvidia.pci_gpus)
    if (gpu.numa == -1) lost.push_back(gpu.slot);
  if (!lost.empty())
    out.fail(Severity::note, "the firmware does not report the NUMA node of a GPU",
             fmt::format("{}; NUMA nodes {}", list(lost), s.facts.machine.numa_nodes),
             "upgrade the firmware; for a virtual machine, pass through the host's NUMA topology");
}

/// If a fabric connects the GPUs, every pair has the same number of links.
void topology(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::map<std::string, std::string> pairs;  // kind of path -> one pair with it
  bool fabric = !s.facts.nvidia.nvswitches.empty();
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    fabric = fabric || word(gpu, "fabric/state");
    for (std::size_t other = 0; other < gpu.paths_to.size(); ++other)
      if (gpu.paths_to[other] != "X")
        pairs.emplace(gpu.paths_to[other],
                      fmt::format("GPU {} to {}: {}", gpu.index, other, gpu.paths_to[other]));
  }
  if (!fabric || pairs.empty()) return out.skip("the GPUs are not connected by a fabric");
  std::vector<std::string> evidence;
  for (const auto& [kind, pair] : pairs) evidence.push_back(pair);
  if (pairs.size() > 1)
    out.fail(Severity::note, "not all pairs of GPUs are connected alike", list(evidence),
             "check nvidia-smi topo -m, nvidia-smi nvlink -s and the fabric manager's log");
  else
    out.pass("every pair: " + pairs.begin()->first);
}

constexpr std::array gpu_pci_rows = std::to_array<Check>({
    {"gpu.pci.count-matches-spec", "every GPU of the machine is on the bus",
     "a GPU that fails early is missing on the bus", "pci virtualization", preflight | node, count_of_board,
     count_across},
    {"gpu.pci.bar-size", "the GPUs have their memory windows", "without it the driver cannot use them",
     "pci kernel-log", preflight | node, bar_size},
    {"gpu.pci.aer", "the PCI Express links have no errors",
     "a bad contact reduces the speed, and then the GPU fails", "pci /proc/uptime", preflight | node, aer},
    {"gpu.pci.link-width", "the PCI Express links have their full width",
     "half of the lanes give half of the speed", "pci nvidia-smi nvidia-smi-xml virtualization",
     preflight | node, link_width},
    {"gpu.pci.link-gen", "the PCI Express links run at full speed", "each generation doubles the speed",
     "pci nvidia-smi nvidia-smi-xml virtualization", preflight | node, link_gen},
    {"gpu.pci.numa-affinity", "the NUMA node of every GPU is known",
     "the kubelet places pods near their GPU with it", "pci /sys/devices/system/node/online",
     preflight | node, numa_affinity},
    {"gpu.pci.topology-manifest", "all pairs of GPUs are connected alike", "the slowest pair sets the speed",
     "pci nvidia-smi nvidia-smi-xml nvidia-smi-topology", preflight | node, topology},
});

}  // namespace

std::span<const Check> gpu_pci_checks() {
  return gpu_pci_rows;
}

}  // namespace checks
