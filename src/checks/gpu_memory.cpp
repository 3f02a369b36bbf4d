#include "checks/gpu_see.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

bool is_not_zero(std::string_view value) {
  return value.find_first_of("123456789") != std::string_view::npos;
}

bool is_yes(std::string_view value) {
  return value == "Yes";
}

/// Names of the counters differ by generation of GPU and of driver.
constexpr std::array uncorrectable = std::to_array<Reading>({
    {"ecc_errors/volatile/dram_uncorrectable", "DRAM"},
    {"ecc_errors/volatile/sram_uncorrectable", "SRAM"},
    {"ecc_errors/volatile/sram_uncorrectable_parity", "SRAM parity"},
    {"ecc_errors/volatile/sram_uncorrectable_secded", "SRAM SEC-DED"},
    {"ecc_errors/volatile/double_bit/total", "double-bit"},
});

void ecc_uncorrectable(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = uncorrectable,
         .bad = is_not_zero,
         .says = "{} had memory errors that could not be corrected since the driver was loaded",
         .remedy = "drain the node and reset the GPU: nvidia-smi -i {i} --gpu-reset; exchange it where they "
                   "come back"});
}

struct Limit {
  const char* path;
  const char* name;
  double most;
};
/// What Azure's health checks let pass.
constexpr std::array correctable = std::to_array<Limit>({
    {"ecc_errors/volatile/sram_correctable", "SRAM", 10'000},
    {"ecc_errors/volatile/dram_correctable", "DRAM", 20'000'000},
});

void ecc_correctable(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.gpus)
    for (const Limit& limit : correctable)
      if (const auto count = number(gpu, limit.path)) {
        any = true;
        if (*count >= limit.most)
          out.fail(Severity::warning, fmt::format("{} corrects very many memory errors", name_of(gpu)),
                   fmt::format("{}: {:.0f}, {:.0f} are many", limit.name, *count, limit.most),
                   "watch the counter (nvidia-smi -q -d ECC) and plan an inspection of the GPU");
      }
  if (!any) out.skip("the GPUs here do not report it");
}

constexpr std::array threshold =
    std::to_array<Reading>({{"ecc_errors/aggregate/sram_threshold_exceeded", "threshold exceeded"}});

void sram_threshold(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = threshold,
         .bad = is_yes,
         .says = "{} has had too many SRAM errors in its life",
         .remedy = "have the GPU exchanged: the vendor takes this flag as the reason"});
}

void ecc_mode(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.gpus) {
    const auto current = word(gpu, "ecc_mode/current_ecc"), pending = word(gpu, "ecc_mode/pending_ecc");
    if (!current) continue;
    any = true;
    const auto slot =
        std::ranges::find(s.facts.pci_gpus, gpu.bus_id, [](const facts::PciGpu& g) { return g.slot; });
    const GpuModel* model =
        slot == s.facts.pci_gpus.end() ? nullptr : s.data.find_gpu(slot->device_id, slot->subsystem);
    if (pending && *pending != *current)
      out.fail(Severity::warning, fmt::format("{} waits for a reset to change its ECC mode", name_of(gpu)),
               fmt::format("ECC is {}, pending is {}", *current, *pending),
               fmt::format("drain the node, then: nvidia-smi -i {} --gpu-reset, or reboot", gpu.index));
    else if (*current == "Disabled" && model && model->kind == "datacenter")
      out.fail(
          Severity::warning, fmt::format("{} does not correct memory errors", name_of(gpu)),
          "ECC is Disabled",
          fmt::format("nvidia-smi -i {} -e 1, then drain the node and reset the GPU or reboot", gpu.index));
  }
  if (!any) out.skip("the GPUs here have no ECC");
}

constexpr std::array remap_pending =
    std::to_array<Reading>({{"remapped_rows/remapped_row_pending", "remapping pending"},
                            {"ecc_errors/channel_repair_pending", "channel repair pending"},
                            {"ecc_errors/tpc_repair_pending", "TPC repair pending"}});

void row_remap_pending(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = remap_pending,
         .bad = is_yes,
         .says = "{} waits for a reset to repair itself",
         .remedy = "drain the node and reset the GPU: nvidia-smi -i {i} --gpu-reset, or reboot"});
}

constexpr std::array remap_failure =
    std::to_array<Reading>({{"remapped_rows/remapped_row_failure", "remapping failed"},
                            {"ecc_errors/unrepairable_memory", "unrepairable memory"}});

void row_remap_failure(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = remap_failure,
         .bad = is_yes,
         .says = "{} could not repair its memory",
         .remedy = "drain the node and have the GPU exchanged"});
}

constexpr std::array histogram = std::to_array<Reading>(
    {{"remapped_rows/row_remapper_histogram/row_remapper_histogram_none", "banks with no spare row left"},
     {"remapped_rows/row_remapper_histogram/row_remapper_histogram_low", "banks with few spare rows left"}});

void remap_histogram(const Subject& s, Verdicts& out) {
  judge(s, out, Severity::warning,
        {.readings = histogram,
         .bad = is_not_zero,
         .says = "{} runs out of spare memory rows",
         .remedy = "order a spare GPU; plan the exchange where banks have none left"});
}

/// A page table holds 64; Meta's checks warn from 10 on.
void retired_pages(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.gpus) {
    const auto single = number(gpu, "retired_pages/multiple_single_bit_retirement/retired_count");
    const auto twice = number(gpu, "retired_pages/double_bit_retirement/retired_count");
    if (!single && !twice) continue;
    any = true;
    const double pages = single.value_or(0) + twice.value_or(0);
    if (pages >= 10)
      out.fail(Severity::warning, fmt::format("{} has given up many pages of its memory", name_of(gpu)),
               fmt::format("{:.0f} pages, 64 are the limit", pages), "plan the exchange of the GPU");
    if (word(gpu, "retired_pages/pending_retirement") == "Yes" ||
        word(gpu, "retired_pages/pending_blacklist") == "Yes")
      out.fail(Severity::warning, fmt::format("{} waits for a reset to give up a page", name_of(gpu)),
               "retirement pending",
               fmt::format("drain the node, then: nvidia-smi -i {} --gpu-reset, or reboot", gpu.index));
  }
  if (!any) out.skip("the GPUs here remap rows instead");
}

void memory_fragment(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::map<std::string, std::uint64_t> most;
  for (const Gpu& gpu : s.facts.gpus)
    if (gpu.memory_mib) most[gpu.name] = std::max(most[gpu.name], *gpu.memory_mib);
  for (const Gpu& gpu : s.facts.gpus)
    if (gpu.memory_mib && *gpu.memory_mib * 100 < most[gpu.name] * 99)
      out.fail(
          Severity::note, fmt::format("{} has less memory than its like", name_of(gpu)),
          fmt::format("{} MiB, others {} MiB", *gpu.memory_mib, most[gpu.name]),
          "look for Xid 168 in dmesg; reset the GPU, and exchange it where the memory does not come back");
}

/// Memory in use with no program that uses it: what a program left behind that was killed.
void leftover(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  if (s.facts.os.container.value_or("none") != "none")
    return out.skip("inside of a container other programs cannot be seen");
  for (const Gpu& gpu : s.facts.gpus) {
    const auto used = number(gpu, "fb_memory_usage/used");
    if (!used || *used < 1024 || !gpu.processes.empty() || gpu.mig == "Enabled") continue;
    out.fail(Severity::warning, fmt::format("memory of {} is in use, but by no program", name_of(gpu)),
             fmt::format("{:.0f} MiB used", *used),
             "fuser -v /dev/nvidia* names what still holds the device; where nothing does, reset the GPU");
  }
}

constexpr std::array rows = std::to_array<Check>({
    {"gpu.health.ecc-uncorrectable", "no memory error went uncorrected", "programs compute wrong or die",
     preflight | node, ecc_uncorrectable},
    {"gpu.health.ecc-correctable", "few memory errors had to be corrected", "very many announce a defect",
     preflight | node, ecc_correctable},
    {"gpu.health.ecc-sram-threshold", "the SRAM stays below its limit of errors",
     "above it the GPU is due for exchange", preflight | node, sram_threshold},
    {"gpu.health.ecc-mode", "ECC is on", "without it errors of the memory go unseen", preflight | node,
     ecc_mode},
    {"gpu.health.row-remap-pending", "no repair of the memory is pending",
     "until the reset the bad row is in use", preflight | node, row_remap_pending},
    {"gpu.health.row-remap-failure", "every repair of the memory worked",
     "a GPU that cannot repair itself is broken", preflight | node, row_remap_failure},
    {"gpu.health.row-remap-histogram", "there are spare rows in every bank",
     "a bank without one cannot be repaired", preflight | node, remap_histogram},
    {"gpu.health.retired-pages", "few pages of the memory were given up", "there is a limit of 64",
     preflight | node, retired_pages},
    {"gpu.health.memory-fragment", "GPUs of one model have as much memory",
     "repairs can make the memory smaller", preflight | node, memory_fragment},
    {"gpu.health.leftover-processes", "memory of the GPUs belongs to programs",
     "what a dead program left is missed by the next one", preflight | node, leftover},
});

}  // namespace

std::span<const Check> gpu_memory_checks() {
  return rows;
}

}  // namespace checks
