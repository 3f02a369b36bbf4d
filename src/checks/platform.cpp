#include "gpuadm/base/text.hpp"

#include "checks/see.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

void clocksource(const Subject& s, Verdicts& out) {
  const std::string& source = s.facts.clocksource;
  if (source.empty()) return out.unknown("the clock source could not be read");
  for (const char* slow : {"acpi_pm", "hpet", "jiffies", "refined-jiffies"})
    if (source == slow)
      return out.fail(
          Severity::warning, "the kernel reads the time from a slow device", source,
          "dmesg | grep -iE 'tsc|clocksource' says why the processor's own clock was given up; update the "
          "firmware, or boot with tsc=reliable");
  out.pass(source);
}

void governor(const Subject& s, Verdicts& out) {
  if (!has_gpu(s.facts)) return out.skip("no NVIDIA GPU on the PCI bus");
  if (s.facts.governor.empty()) return out.skip("the kernel does not set the processors' frequency here");
  if (s.facts.governor != "performance")
    return out.fail(Severity::note, "processors slow down between requests of the GPU",
                    "governor " + s.facts.governor,
                    "cpupower frequency-set -g performance, and a unit that does so at boot");
  out.pass(s.facts.governor);
}

/// KiB of "2M", "1G", "2048K".
std::optional<std::uint64_t> page_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char unit = text.back();
  const auto number = base::to_int(text.substr(0, text.size() - 1));
  if (!number || *number <= 0) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(*number);
  if (unit == 'K' || unit == 'k') return count;
  if (unit == 'M' || unit == 'm') return count << 10;
  if (unit == 'G' || unit == 'g') return count << 20;
  return std::nullopt;
}

void hugepages(const Subject& s, Verdicts& out) {
  if (!s.facts.command_line) return out.unknown("/proc/cmdline could not be read");
  std::optional<std::uint64_t> size;
  std::map<std::uint64_t, std::uint64_t> wanted;
  for (const std::string_view word : base::words(*s.facts.command_line)) {
    for (const std::string_view key : {"default_hugepagesz=", "hugepagesz="})
      if (word.starts_with(key)) size = page_size(word.substr(key.size()));
    const auto count = word.starts_with("hugepages=") ? base::to_int(word.substr(10)) : std::nullopt;
    // Without a size before it the kernel takes its own default: 2 MiB on the machines of today.
    if (count && *count > 0) wanted[size.value_or(2048)] = static_cast<std::uint64_t>(*count);
  }
  if (wanted.empty()) return out.skip("the kernel's command line reserves no huge pages");
  if (s.facts.huge_pages.empty()) return out.unknown("how many huge pages are reserved could not be read");
  for (const auto& [kib, count] : wanted) {
    const auto got = s.facts.huge_pages.find(kib);
    const std::uint64_t reserved = got == s.facts.huge_pages.end() ? 0 : got->second;
    if (reserved < count)
      out.fail(Severity::warning, "fewer huge pages are reserved than the kernel was asked for",
               fmt::format("{} of {} pages of {}", reserved, count, base::human_bytes(kib * 1024)),
               "reserve fewer, or add memory; then reboot: the kubelet counts them when it starts");
  }
}

/// 2^9 pages of 4 KiB are one huge page.
constexpr std::ptrdiff_t huge_order = 9;

void buddyinfo(const Subject& s, Verdicts& out) {
  bool any = false;
  std::vector<std::string> torn;
  for (const facts::FreeBlocks& zone : s.facts.free_blocks) {
    if (zone.zone != "Normal" || std::ssize(zone.orders) <= huge_order) continue;
    any = true;
    if (std::all_of(zone.orders.begin() + huge_order, zone.orders.end(),
                    [](std::uint64_t n) { return n == 0; }))
      torn.push_back(fmt::format("node {}", zone.node));
  }
  if (!any) return out.skip("/proc/buddyinfo lists no zone Normal");
  if (!torn.empty())
    out.fail(Severity::note, "free memory is in small pieces: large buffers and huge pages may not be had",
             "no free block of 2 MiB: " + list(torn), "echo 1 > /proc/sys/vm/compact_memory");
}

void iommu(const Subject& s, Verdicts& out) {
  if (!has_gpu(s.facts)) return out.skip("no NVIDIA GPU on the PCI bus");
  if (!is_bare_metal(s.facts))
    return out.skip("not bare metal, as far as is known: the host around it has the IOMMU");
  if (!has_peers(s.facts))
    return out.skip("one GPU and no RDMA: nothing reads its memory past the processor");
  if (s.facts.iommus.empty()) return out.pass("no IOMMU is on");
  std::vector<std::string> translated;
  for (const facts::PciGpu& gpu : s.facts.pci_gpus) {
    if (gpu.iommu.empty()) return out.unknown("how the IOMMU treats " + gpu.slot + " could not be read");
    if (gpu.iommu.starts_with("DMA")) translated.push_back(gpu.slot);
  }
  if (!translated.empty())
    out.fail(Severity::warning,
             "the IOMMU translates what GPUs send each other and network cards: slow, or wrong",
             list(translated) + ": " + s.facts.pci_gpus.front().iommu,
             "add iommu=pt to the kernel's command line (GRUB_CMDLINE_LINUX in /etc/default/grub), "
             "update-grub, reboot");
}

void acs(const Subject& s, Verdicts& out) {
  if (!has_peers(s.facts)) return out.skip("no two devices that would talk to each other");
  if (!is_bare_metal(s.facts))
    return out.skip("not bare metal, as far as is known: the host around it has the bridges");
  if (!s.facts.acs_bridges) return out.unknown("lspci is not on this host, or the driver is not loaded");
  std::vector<std::string> bridges;
  for (const std::string& slot : *s.facts.acs_bridges)
    if (std::ranges::any_of(s.facts.pci_gpus, [&](const facts::PciGpu& gpu) {
          return gpu.place.find(slot) != std::string::npos && !gpu.place.ends_with(slot);
        }))
      bridges.push_back(slot);
  if (!bridges.empty())
    out.fail(Severity::warning, "PCI bridges send traffic between GPUs up to the processor (ACS)",
             list(bridges),
             "switch ACS off in the BIOS, or at each boot: setpci -s BRIDGE ECAP_ACS+0x6.w=0000");
}

void command_line(const Subject& s, Verdicts& out) {
  if (!s.facts.command_line) return out.unknown("/proc/cmdline could not be read");
  out.pass(*s.facts.command_line);
}

constexpr std::size_t many_zombies = 20;

void zombies(const Subject& s, Verdicts& out) {
  if (!s.facts.stuck) return out.unknown("processes could not be read");
  std::map<std::string, std::size_t> names;
  std::size_t all = 0;
  for (const facts::Process& process : *s.facts.stuck)
    if (process.state == 'Z') ++names[process.name], ++all;
  if (all < many_zombies) return out.pass(fmt::format("{} zombies", all));
  const auto most = std::ranges::max_element(names, {}, &std::pair<const std::string, std::size_t>::second);
  out.fail(Severity::warning, "many processes have ended and nobody collects them",
           fmt::format("{} zombies, {} of them {}", all, most->second, most->first),
           "ps -eo ppid,stat,comm | grep ' Z' names their parents: restart those; a container whose first "
           "process is no "
           "init does this");
}

/// A driver's call that takes longer has been lost.
constexpr double long_wait = 300;

void dstate(const Subject& s, Verdicts& out) {
  if (!has_gpu(s.facts)) return out.skip("no NVIDIA GPU on the PCI bus");
  if (!s.facts.stuck) return out.unknown("processes could not be read");
  std::vector<std::string> waiting;
  for (const facts::Process& process : *s.facts.stuck) {
    const bool ours = process.name.starts_with("nvidia") || process.name.starts_with("nv-") ||
                      process.name.starts_with("dcgm");
    if (ours && process.state == 'D' && process.age.value_or(0) > long_wait)
      waiting.push_back(fmt::format("{} ({})", process.name, process.pid));
  }
  if (!waiting.empty())
    out.fail(Severity::blocker, "programs hang inside the NVIDIA driver", list(waiting),
             "drain the node and reboot it: they cannot be killed");
}

/// Corrected errors a day that a healthy module stays below.
constexpr double corrected_a_day = 100;

void ecc(const Subject& s, Verdicts& out) {
  if (!s.facts.ecc_uncorrected) return out.skip("the kernel counts no memory errors here (no EDAC)");
  if (*s.facts.ecc_uncorrected > 0)
    return out.fail(
        Severity::warning, "main memory has lost data",
        fmt::format("{} uncorrected errors since boot", *s.facts.ecc_uncorrected),
        "find the module (grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count) and exchange it");
  const double days = s.facts.uptime.value_or(0) / 86400;
  const auto corrected = static_cast<double>(s.facts.ecc_corrected.value_or(0));
  if (corrected > corrected_a_day * std::max(1.0, days))
    return out.fail(
        Severity::warning, "a memory module is wearing out",
        fmt::format("{:.0f} corrected errors in {}", corrected, base::human_seconds(days * 86400)),
        "find the module (grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count) and exchange it");
  out.pass(fmt::format("{:.0f} corrected errors since boot", corrected));
}

void panics(const Subject& s, Verdicts& out) {
  if (!s.facts.crash_records)
    return out.skip("the machine keeps no records of a kernel that died (no pstore)");
  if (!s.facts.crash_records->empty())
    out.fail(Severity::warning, "the kernel has died before", list(*s.facts.crash_records),
             "read them, show them to the vendor, then remove them: a full store keeps no more");
}

constexpr std::array rows = std::to_array<Check>({
    {"kernel.clocksource", "the time comes from the processor", "programs ask for it all the time", node,
     clocksource},
    {"kernel.cpu.governor", "processors run at full speed", "GPUs wait for them", node, governor},
    {"kernel.hugepages", "the huge pages asked for are reserved",
     "pods that want them stay pending otherwise", preflight | node, hugepages},
    {"kernel.buddyinfo", "free memory is in large pieces", "drivers ask for large buffers", node, buddyinfo},
    {"kernel.iommu.state", "the IOMMU stays out of GPUs' way", "GPUDirect goes past the processor",
     preflight | node, iommu},
    {"kernel.pcie.acs", "GPUs talk to each other directly", "ACS sends their traffic to the processor first",
     node, acs},
    {"kernel.cmdline.recorded", "the kernel's command line is known", "much else depends on it", preflight,
     command_line},
    {"kernel.zombies", "ended processes are collected", "each keeps a process number", node, zombies},
    {"kernel.dstate-nvidia", "no program hangs in the NVIDIA driver", "nothing but a reboot helps", node,
     dstate},
    {"host.mem.ecc-errors", "main memory is healthy", "a module that lost data loses more", node, ecc},
    {"host.kernel.panics", "the kernel has not died", "what killed it may come back", preflight | node,
     panics},
});

}  // namespace

std::span<const Check> platform_checks() {
  return rows;
}

}  // namespace checks
