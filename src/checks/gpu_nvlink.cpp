#include "checks/gpu_see.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

void nvlink_active(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.gpus) {
    if (!gpu.nvlinks) continue;
    // Bridges between cards use some of the links only; switches use all.
    const bool switched = !s.facts.nvswitches.empty() || word(gpu, "fabric/state");
    int most = 0;
    for (const Gpu& other : s.facts.gpus)
      if (other.nvlinks && other.name == gpu.name) most = std::max(most, other.nvlinks->active);
    any = any || switched || most > 0;
    if (gpu.nvlinks->active < most || (switched && !gpu.nvlinks->inactive.empty()))
      out.fail(
          gpu_severity(s), fmt::format("{} has NVLinks that are down", name_of(gpu)),
          fmt::format("{} up, down: {}", gpu.nvlinks->active, list(gpu.nvlinks->inactive)),
          "look at nvidia-smi nvlink -s and the fabric manager's log; reset the GPU after draining the node; "
          "have it checked where the links stay down");
  }
  if (!any) out.skip("the GPUs are not joined by NVLink");
}

/// Counters run since the driver was loaded: an error of CRC now and then is no fault.
struct Rate {
  std::string_view kind;
  double per_hour;
};
constexpr std::array rates = {Rate{"Recovery", 0}, Rate{"Replay", 1}, Rate{"CRC", 100}};

void nvlink_errors(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  const double hours = std::max(1.0, s.facts.uptime.value_or(0) / 3600);
  for (const Gpu& gpu : s.facts.gpus) {
    if (!gpu.nvlinks) continue;
    any = true;
    std::vector<std::string> many;
    for (const auto& [what, times] : gpu.nvlinks->errors)
      for (const Rate& rate : rates)
        if (what.ends_with(rate.kind) && static_cast<double>(times) > rate.per_hour * hours)
          many.push_back(fmt::format("{} {}", what, times));
    if (!many.empty())
      out.fail(
          Severity::warning, fmt::format("{} has errors on its NVLinks", name_of(gpu)), list(many),
          "ask again after a while (nvidia-smi nvlink -e); where they grow, reset the GPU after draining the "
          "node, and have the link checked where they come back");
  }
  if (!any) out.skip("the GPUs are not joined by NVLink");
}

constexpr std::array rows = std::to_array<Check>({
    {"gpu.health.nvlink-active", "every NVLink is up", "a missing link costs speed, or the whole fabric",
     preflight | node, nvlink_active},
    {"gpu.health.nvlink-errors", "the NVLinks have no errors", "errors cost speed, then the link",
     preflight | node, nvlink_errors},
});

}  // namespace

std::span<const Check> gpu_nvlink_checks() {
  return rows;
}

}  // namespace checks
