#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

/// Whether the GPU is on a board that connects its links to other GPUs or to switches; bridges of PCI Express
/// cards are optional.
bool is_on_board(const Subject& s, const Gpu& gpu) {
  const auto has = [](std::string_view name, std::string_view part) { return name.find(part) != name.npos; };
  std::string name = gpu.name;
  for (const facts::PciGpu& pci : s.facts.nvidia.pci_gpus)
    if (const GpuModel* model = s.data.find_gpu(pci.device_id, pci.subsystem);
        model && pci.slot == gpu.bus_id)
      name += " " + model->name;
  if (has(name, "PCIe") || has(name, "NVL")) return false;
  static constexpr std::array<std::string_view, 6> boards = {"SXM", "HBM3", "H200", "B200", "B300", "H20"};
  return std::ranges::any_of(boards, [&](std::string_view board) { return has(name, board); });
}

constexpr const char* links_remedy =
    "check nvidia-smi nvlink -s and the fabric manager's log; drain the node and reset the GPU; have "
    "it "
    "checked if the links stay down";

/// A GPU whose links are all down, and no other GPU or switch indicates that they should be up.
void judge_alone(const Subject& s, Verdicts& out, const Gpu& gpu) {
  if (!is_on_board(s, gpu)) return;
  const bool alone = s.facts.nvidia.gpus.size() < 2 && s.facts.nvidia.pci_gpus.size() < 2;
  out.fail(alone ? Severity::note : gpu_severity(s), fmt::format("{} has no active NVLink", name_of(gpu)),
           alone ? "all links are inactive; this host has one GPU, which may be passed through alone"
                 : "all links are inactive",
           links_remedy);
}

void nvlink_active(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    if (!gpu.nvlinks) continue;
    // Bridges between cards use only some of the links; switches use all.
    const bool switched = !s.facts.nvidia.nvswitches.empty() || word(gpu, "fabric/state");
    int most = 0;
    for (const Gpu& other : s.facts.nvidia.gpus)
      if (other.nvlinks && other.name == gpu.name) most = std::max(most, other.nvlinks->active);
    any = any || switched || most > 0;
    if (gpu.nvlinks->active < most || (switched && !gpu.nvlinks->inactive.empty()))
      out.fail(gpu_severity(s), fmt::format("{} has NVLinks that are down", name_of(gpu)),
               fmt::format("{} up, down: {}", gpu.nvlinks->active, list(gpu.nvlinks->inactive)),
               links_remedy);
    else if (most == 0 && !gpu.nvlinks->inactive.empty())
      judge_alone(s, out, gpu);
  }
  if (!any && out.silent()) out.skip("the GPUs are not connected by NVLink");
}

/// Counters since the driver was loaded: occasional CRC errors are normal.
struct Rate {
  std::string_view kind;
  double per_hour;
};
constexpr std::array rates = {Rate{"Recovery", 0}, Rate{"Replay", 1}, Rate{"CRC", 100}};

void nvlink_errors(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  const double hours = std::max(1.0, s.facts.kernel.uptime.value_or(0) / 3600);
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    if (!gpu.nvlinks) continue;
    any = true;
    std::vector<std::string> many;
    for (const auto& [what, times] : gpu.nvlinks->errors)
      for (const Rate& rate : rates)
        if (what.ends_with(rate.kind) && static_cast<double>(times) > rate.per_hour * hours)
          many.push_back(fmt::format("{} {}", what, times));
    if (!many.empty())
      out.fail(Severity::warning, fmt::format("{} has errors on its NVLinks", name_of(gpu)), list(many),
               "compare nvidia-smi nvlink -e after some minutes; if errors increase, drain the node and "
               "reset the GPU; if they happen again, have the link checked");
  }
  if (!any) out.skip("the GPUs are not connected by NVLink");
}

constexpr std::array gpu_nvlink_rows = std::to_array<Check>({
    {"gpu.health.nvlink-active", "every NVLink is up",
     "a missing link reduces the speed or disables the fabric",
     "pci nvidia-smi nvidia-smi-xml nvidia-smi-nvlink", preflight | node, nvlink_active},
    {"gpu.health.nvlink-errors", "the NVLinks have no errors",
     "errors reduce the speed, and then the link fails",
     "pci nvidia-smi nvidia-smi-xml nvidia-smi-nvlink nvidia-smi-nvlink-errors /proc/uptime",
     preflight | node, nvlink_errors},
});

}  // namespace

std::span<const Check> gpu_nvlink_checks() {
  return gpu_nvlink_rows;
}

}  // namespace checks
