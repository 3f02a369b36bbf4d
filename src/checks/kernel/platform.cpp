#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

void clocksource(const Subject& s, Verdicts& out) {
  const std::string& source = s.facts.clock.source;
  if (source.empty()) return out.unknown("the clock source could not be read");
  for (const char* slow : {"acpi_pm", "hpet", "jiffies", "refined-jiffies"})
    if (source == slow)
      return out.fail(Severity::warning, "the kernel reads the time from a slow device", source,
                      "update the firmware, or boot with tsc=reliable; dmesg | grep -iE 'tsc|clocksource' "
                      "shows the reason");
  out.pass(source);
}

void governor(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (s.facts.machine.governor.empty()) return out.skip("the kernel does not control the CPU frequency");
  if (s.facts.machine.governor != "performance")
    return out.fail(Severity::note, "CPUs slow down between GPU requests",
                    "governor " + s.facts.machine.governor,
                    "cpupower frequency-set -g performance, and a systemd unit that runs it at boot");
  out.pass(s.facts.machine.governor);
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
  if (!s.facts.kernel.command_line) return out.unknown("/proc/cmdline could not be read");
  std::optional<std::uint64_t> size;
  std::map<std::uint64_t, std::uint64_t> wanted;
  for (const std::string_view word : base::words(*s.facts.kernel.command_line)) {
    for (const std::string_view key : {"default_hugepagesz=", "hugepagesz="})
      if (word.starts_with(key)) size = page_size(word.substr(key.size()));
    const auto count = word.starts_with("hugepages=") ? base::to_int(word.substr(10)) : std::nullopt;
    // Without a size, the kernel uses its default: 2 MiB on current machines.
    if (count && *count > 0) wanted[size.value_or(2048)] = static_cast<std::uint64_t>(*count);
  }
  if (wanted.empty()) return out.skip("the kernel's command line reserves no huge pages");
  if (s.facts.kernel.huge_pages.empty())
    return out.unknown("the number of reserved huge pages could not be read");
  for (const auto& [kib, count] : wanted) {
    const auto got = s.facts.kernel.huge_pages.find(kib);
    const std::uint64_t reserved = got == s.facts.kernel.huge_pages.end() ? 0 : got->second;
    if (reserved < count)
      out.fail(Severity::warning, "fewer huge pages are reserved than requested",
               fmt::format("{} of {} pages of {}", reserved, count, base::human_bytes(kib * 1024)),
               "reserve fewer, or add memory; then reboot: the kubelet counts them when it starts");
  }
}

/// 2^9 pages of 4 KiB are one huge page.
constexpr std::ptrdiff_t huge_order = 9;

void buddyinfo(const Subject& s, Verdicts& out) {
  bool any = false;
  std::vector<std::string> torn;
  for (const facts::FreeBlocks& zone : s.facts.kernel.free_blocks) {
    if (zone.zone != "Normal" || std::ssize(zone.orders) <= huge_order) continue;
    any = true;
    if (std::all_of(zone.orders.begin() + huge_order, zone.orders.end(),
                    [](std::uint64_t n) { return n == 0; }))
      torn.push_back(fmt::format("node {}", zone.node));
  }
  if (!any) return out.skip("/proc/buddyinfo lists no zone Normal");
  if (!torn.empty())
    out.fail(Severity::note, "free memory is fragmented: large buffers and huge pages may not be available",
             "no free block of 2 MiB: " + list(torn), "echo 1 > /proc/sys/vm/compact_memory");
}

void iommu(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!is_bare_metal(s.facts))
    return out.skip("the host is not known to be bare metal; its hypervisor controls the IOMMU");
  if (!has_peers(s.facts)) return out.skip("one GPU and no RDMA: no device reads its memory directly");
  if (s.facts.machine.iommus.empty()) return out.pass("no IOMMU is enabled");
  std::vector<std::string> translated;
  for (const facts::PciGpu& gpu : s.facts.nvidia.pci_gpus) {
    if (gpu.iommu.empty()) return out.unknown("the IOMMU mode of " + gpu.slot + " could not be read");
    if (gpu.iommu.starts_with("DMA")) translated.push_back(gpu.slot);
  }
  if (!translated.empty())
    out.fail(Severity::warning,
             "the IOMMU translates peer-to-peer transfers of GPUs: they are slow or corrupt",
             list(translated) + ": " + s.facts.nvidia.pci_gpus.front().iommu,
             "add iommu=pt to the kernel's command line (@kernel-parameters@), reboot");
}

void acs(const Subject& s, Verdicts& out) {
  if (!has_peers(s.facts)) return out.skip("no two devices communicate directly");
  if (!is_bare_metal(s.facts))
    return out.skip("the host is not known to be bare metal; its hypervisor controls the PCI bridges");
  if (!s.facts.machine.acs_bridges)
    return out.unknown("lspci is not on this host, or the driver is not loaded");
  std::vector<std::string> bridges;
  for (const std::string& slot : *s.facts.machine.acs_bridges)
    if (std::ranges::any_of(s.facts.nvidia.pci_gpus, [&](const facts::PciGpu& gpu) {
          return gpu.place.find(slot) != std::string::npos && !gpu.place.ends_with(slot);
        }))
      bridges.push_back(slot);
  if (!bridges.empty())
    out.fail(Severity::warning, "PCI bridges redirect traffic between GPUs to the processor (ACS)",
             list(bridges), "disable ACS in the BIOS, or at each boot: setpci -s BRIDGE ECAP_ACS+0x6.w=0000");
}

void command_line(const Subject& s, Verdicts& out) {
  if (!s.facts.kernel.command_line) return out.unknown("/proc/cmdline could not be read");
  out.pass(*s.facts.kernel.command_line);
}

constexpr std::size_t many_zombies = 20;

void zombies(const Subject& s, Verdicts& out) {
  if (!s.facts.kernel.stuck) return out.unknown("processes could not be read");
  std::map<std::string, std::size_t> names;
  std::size_t all = 0;
  for (const facts::Process& process : *s.facts.kernel.stuck)
    if (process.state == 'Z') ++names[process.name], ++all;
  if (all < many_zombies) return out.pass(fmt::format("{} zombies", all));
  const auto most = std::ranges::max_element(names, {}, &std::pair<const std::string, std::size_t>::second);
  out.fail(Severity::warning, "there are many zombie processes",
           fmt::format("{} zombies, {} of them {}", all, most->second, most->first),
           "restart their parents: ps -eo ppid,stat,comm | grep ' Z'; containers without an init process "
           "leave zombies");
}

/// A longer call of a driver is considered hung.
constexpr double long_wait = 300;

void dstate(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.kernel.stuck) return out.unknown("processes could not be read");
  std::vector<std::string> waiting;
  for (const facts::Process& process : *s.facts.kernel.stuck) {
    const bool ours = process.name.starts_with("nvidia") || process.name.starts_with("nv-") ||
                      process.name.starts_with("dcgm");
    // Any user can start a process with such a name, and let it wait.
    if (ours && process.system.value_or(true) && process.state == 'D' && process.age.value_or(0) > long_wait)
      waiting.push_back(fmt::format("{} ({})", process.name, process.pid));
  }
  if (!waiting.empty())
    out.fail(Severity::blocker, "programs hang inside the NVIDIA driver", list(waiting),
             "drain the node and reboot it: they cannot be killed");
}

/// Maximum of corrected errors a day for a healthy module.
constexpr double corrected_a_day = 100;

void ecc(const Subject& s, Verdicts& out) {
  if (!s.facts.machine.ecc_uncorrected) return out.skip("the kernel does not count memory errors (no EDAC)");
  if (*s.facts.machine.ecc_uncorrected > 0)
    return out.fail(
        Severity::warning, "main memory has uncorrected errors",
        fmt::format("{} uncorrected errors since boot", *s.facts.machine.ecc_uncorrected),
        "find the module (grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count) and replace it");
  const double days = s.facts.kernel.uptime.value_or(0) / 86400;
  const auto corrected = static_cast<double>(s.facts.machine.ecc_corrected.value_or(0));
  if (corrected > corrected_a_day * std::max(1.0, days))
    return out.fail(
        Severity::warning, "a memory module has many corrected errors",
        fmt::format("{:.0f} corrected errors in {}", corrected, base::human_seconds(days * 86400)),
        "find the module (grep . /sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count) and replace it");
  out.pass(fmt::format("{:.0f} corrected errors since boot", corrected));
}

void panics(const Subject& s, Verdicts& out) {
  if (!s.facts.kernel.crash_records)
    return out.skip("the machine keeps no records of kernel crashes (no pstore)");
  if (!s.facts.kernel.crash_records->empty())
    out.fail(Severity::warning, "the kernel has crashed before", list(*s.facts.kernel.crash_records),
             "read them, send them to the vendor, then remove them: a full store records nothing more");
}

constexpr std::array platform_rows = std::to_array<Check>({
    {"kernel.clocksource", "the kernel reads the time from the processor", "programs read the time often",
     "sysfs virtualization", node, clocksource},
    {"kernel.cpu.governor", "processors run at full speed", "GPUs wait for them", "sysfs", node, governor},
    {"kernel.hugepages", "the requested huge pages are reserved",
     "pods that request them stay Pending otherwise", "/proc/cmdline sysfs", preflight | node, hugepages},
    {"kernel.buddyinfo", "free memory is not fragmented", "drivers need large buffers", "/proc/buddyinfo",
     node, buddyinfo},
    {"kernel.iommu.state", "the IOMMU does not translate transfers of GPUs",
     "GPUDirect bypasses the processor", "pci paths /proc/cmdline virtualization", preflight | node, iommu},
    {"kernel.pcie.acs", "GPUs communicate directly", "ACS redirects their traffic to the processor",
     "acs pci virtualization", preflight | node, acs},
    {"kernel.cmdline.recorded", "the kernel's command line is known", "other checks depend on it",
     "/proc/cmdline", preflight, command_line},
    {"kernel.zombies", "there are few zombie processes", "each zombie keeps a process number",
     "processes /proc/uptime", node, zombies},
    {"kernel.dstate-nvidia", "no program hangs in the NVIDIA driver", "only a reboot helps", "processes",
     node, dstate},
    {"host.mem.ecc-errors", "main memory is healthy", "a module with errors is likely to have more", "sysfs",
     node, ecc},
    {"host.kernel.panics", "the kernel has not crashed", "the cause of a crash may return",
     "/sys/fs/pstore/ /var/lib/systemd/pstore/", preflight | node, panics},
});

}  // namespace

std::span<const Check> platform_checks() {
  return platform_rows;
}

}  // namespace checks
