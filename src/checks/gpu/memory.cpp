#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::Gpu;

std::optional<bool> is_not_zero(std::string_view value) {
  const auto number = base::to_real(value.substr(0, value.find(' ')));  // "3", "3 bank(s)"
  return number ? std::optional(*number > 0) : std::nullopt;
}

std::optional<bool> is_yes(std::string_view value) {
  return value == "Yes" || value == "No" ? std::optional(value == "Yes") : std::nullopt;
}

/// Names of the counters differ by GPU generation and driver.
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
         .message = "{} has uncorrected memory errors since the driver was loaded",
         .remedy = "gpuadm gpu reset {host} {i}; replace the GPU if they happen again"});
}

struct Limit {
  const char* path;
  const char* name;
  double most;
};
/// The limit of Azure's health checks.
constexpr std::array correctable = std::to_array<Limit>({
    {"ecc_errors/volatile/sram_correctable", "SRAM", 10'000},
    {"ecc_errors/volatile/dram_correctable", "DRAM", 20'000'000},
});

void ecc_correctable(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"ecc_errors/volatile/sram_correctable", "ecc_errors/volatile/dram_correctable"});
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    for (const Limit& limit : correctable)
      if (const auto count = number(gpu, limit.path)) {
        any = true;
        if (*count >= limit.most)
          out.fail(Severity::warning, fmt::format("{} has very many corrected memory errors", name_of(gpu)),
                   fmt::format("{}: {:.0f}, the limit is {:.0f}", limit.name, *count, limit.most),
                   "watch the counter (nvidia-smi -q -d ECC) and plan an inspection of the GPU");
      }
  if (!any && out.silent()) out.skip("the GPUs do not report it");
}

constexpr std::array threshold =
    std::to_array<Reading>({{"ecc_errors/aggregate/sram_threshold_exceeded", "threshold exceeded"}});

void sram_threshold(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = threshold,
         .bad = is_yes,
         .message = "{} has exceeded its lifetime limit of SRAM errors",
         .remedy = "have the GPU replaced: this flag is the vendor's replacement criterion"});
}

void ecc_mode(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto current = word(gpu, "ecc_mode/current_ecc"), pending = word(gpu, "ecc_mode/pending_ecc");
    if (!current) continue;
    any = true;
    const auto slot =
        std::ranges::find(s.facts.nvidia.pci_gpus, gpu.bus_id, [](const facts::PciGpu& g) { return g.slot; });
    const GpuModel* model =
        slot == s.facts.nvidia.pci_gpus.end() ? nullptr : s.data.find_gpu(slot->device_id, slot->subsystem);
    if (pending && *pending != *current)
      out.fail(Severity::warning, fmt::format("{} waits for a reset to change its ECC mode", name_of(gpu)),
               fmt::format("ECC is {}, pending is {}", *current, *pending),
               fmt::format("gpuadm gpu reset {} {}, or drain the node and reboot", s.host.name, gpu.index));
    else if (*current == "Disabled" && model && model->kind == "datacenter")
      out.fail(
          Severity::warning, fmt::format("{} does not correct memory errors", name_of(gpu)),
          "ECC is Disabled",
          fmt::format("nvidia-smi -i {} -e 1, then drain the node and reset the GPU or reboot", gpu.index));
  }
  if (!any) out.skip("the GPUs have no ECC");
}

constexpr std::array remap_pending =
    std::to_array<Reading>({{"remapped_rows/remapped_row_pending", "remapping pending"},
                            {"ecc_errors/channel_repair_pending", "channel repair pending"},
                            {"ecc_errors/tpc_repair_pending", "TPC repair pending"}});

void row_remap_pending(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = remap_pending,
         .bad = is_yes,
         .message = "{} waits for a reset to repair itself",
         .remedy = "gpuadm gpu reset {host} {i}, or drain the node and reboot"});
}

constexpr std::array remap_failure =
    std::to_array<Reading>({{"remapped_rows/remapped_row_failure", "remapping failed"},
                            {"ecc_errors/unrepairable_memory", "unrepairable memory"}});

void row_remap_failure(const Subject& s, Verdicts& out) {
  judge(s, out, gpu_severity(s),
        {.readings = remap_failure,
         .bad = is_yes,
         .message = "{} could not repair its memory",
         .remedy = "drain the node and have the GPU replaced"});
}

constexpr std::array histogram = std::to_array<Reading>(
    {{"remapped_rows/row_remapper_histogram/row_remapper_histogram_none", "banks with no spare row left"},
     {"remapped_rows/row_remapper_histogram/row_remapper_histogram_low", "banks with few spare rows left"}});

void remap_histogram(const Subject& s, Verdicts& out) {
  judge(s, out, Severity::warning,
        {.readings = histogram,
         .bad = is_not_zero,
         .message = "{} is running out of spare memory rows",
         .remedy = "order a spare GPU; plan its replacement if a bank has no spare row left"});
}

/// A page table has 64; Meta's checks warn from 10 on.
void retired_pages(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out,
                {"retired_pages/multiple_single_bit_retirement/retired_count",
                 "retired_pages/double_bit_retirement/retired_count"});
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto single = number(gpu, "retired_pages/multiple_single_bit_retirement/retired_count");
    const auto twice = number(gpu, "retired_pages/double_bit_retirement/retired_count");
    if (!single && !twice) continue;
    any = true;
    const double pages = single.value_or(0) + twice.value_or(0);
    if (pages >= 10)
      out.fail(Severity::warning, fmt::format("{} has retired many memory pages", name_of(gpu)),
               fmt::format("{:.0f} pages, the limit is 64", pages), "plan the replacement of the GPU");
    if (word(gpu, "retired_pages/pending_retirement") == "Yes" ||
        word(gpu, "retired_pages/pending_blacklist") == "Yes")
      out.fail(Severity::warning, fmt::format("{} waits for a reset to retire a page", name_of(gpu)),
               "retirement pending",
               fmt::format("gpuadm gpu reset {} {}, or drain the node and reboot", s.host.name, gpu.index));
  }
  if (!any && out.silent()) out.skip("the GPUs remap rows instead");
}

void memory_fragment(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  std::map<std::string, std::uint64_t> most;
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.memory_mib) most[gpu.name] = std::max(most[gpu.name], *gpu.memory_mib);
  for (const Gpu& gpu : s.facts.nvidia.gpus)
    if (gpu.memory_mib && *gpu.memory_mib * 100 < most[gpu.name] * 99)
      out.fail(Severity::note, fmt::format("{} has less memory than other GPUs of its model", name_of(gpu)),
               fmt::format("{} MiB, others {} MiB", *gpu.memory_mib, most[gpu.name]),
               "look for Xid 168 in dmesg; reset the GPU, and replace it if the memory is still missing");
}

/// Memory in use without a program: left behind by a killed program.
void leftover(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  report_unread(s, out, {"fb_memory_usage/used"});
  if (s.facts.os.container.value_or("none") != "none")
    return out.skip("processes of the host are not visible in a container");
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto used = number(gpu, "fb_memory_usage/used");
    if (!used || *used < 1024 || !gpu.processes.empty() || gpu.mig == "Enabled") continue;
    out.fail(Severity::warning, fmt::format("memory of {} is in use, but not by a program", name_of(gpu)),
             fmt::format("{:.0f} MiB used", *used),
             "fuser -v /dev/nvidia*; if no process uses the device, reset the GPU");
  }
}

constexpr std::array gpu_memory_rows = std::to_array<Check>({
    {"gpu.health.ecc-uncorrectable", "all memory errors were corrected",
     "programs compute wrong results or fail", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     ecc_uncorrectable},
    {"gpu.health.ecc-correctable", "few memory errors were corrected",
     "many corrected errors indicate a defect", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     ecc_correctable},
    {"gpu.health.ecc-sram-threshold", "SRAM errors are below the limit",
     "above the limit the GPU must be replaced", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     sram_threshold},
    {"gpu.health.ecc-mode", "ECC is on", "memory errors are not detected without it",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, ecc_mode},
    {"gpu.health.row-remap-pending", "no memory repair is pending", "the bad row is in use until the reset",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, row_remap_pending},
    {"gpu.health.row-remap-failure", "every memory repair succeeded",
     "a GPU that cannot repair its memory is defective", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     row_remap_failure},
    {"gpu.health.row-remap-histogram", "every memory bank has spare rows",
     "a bank without spare rows cannot be repaired", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     remap_histogram},
    {"gpu.health.retired-pages", "few memory pages are retired", "the limit is 64 pages",
     "pci nvidia-smi nvidia-smi-xml", preflight | node, retired_pages},
    {"gpu.health.memory-fragment", "GPUs of one model have the same amount of memory",
     "repairs can make the memory smaller", "pci nvidia-smi nvidia-smi-xml", preflight | node,
     memory_fragment},
    {"gpu.health.leftover-processes", "GPU memory in use belongs to running programs",
     "memory that an ended program still holds is not available", "pci nvidia-smi nvidia-smi-xml",
     preflight | node, leftover},
});

}  // namespace

std::span<const Check> gpu_memory_checks() {
  return gpu_memory_rows;
}

}  // namespace checks
