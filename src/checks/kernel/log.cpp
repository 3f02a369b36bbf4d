#include "gpuadm/base/text.hpp"

#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::LogLine;

/// A line that contains all of these words, in lower case; padded with nullptr.
using Words = std::array<const char*, 2>;

/// Lines of the kernel log about one kind of fault.
struct Sign {
  std::array<Words, 8> any;         ///< a line with one of these
  std::array<const char*, 4> none;  ///< and with none of these
  double within;                    ///< seconds before now; 0: since boot
  Severity severity;
  const char* message;
  const char* remedy;
};

bool shows(const Sign& sign, const std::string& text) {
  const std::string low = base::lower(text);
  const auto in = [&](const char* word) { return word && low.find(word) != std::string::npos; };
  if (std::ranges::any_of(sign.none, in)) return false;
  return std::ranges::any_of(sign.any,
                             [&](const Words& words) { return in(words[0]) && (!words[1] || in(words[1])); });
}

template <const Sign& sign>
void search(const Subject& s, Verdicts& out) {
  if (!s.facts.kernel.log) return out.unknown("the kernel's log could not be read");
  std::size_t count = 0;
  const LogLine* last = nullptr;
  for (const LogLine& line : *s.facts.kernel.log) {
    if (sign.within > 0 && s.facts.kernel.uptime && *s.facts.kernel.uptime - line.seconds > sign.within)
      continue;
    if (shows(sign, line.text)) ++count, last = &line;
  }
  if (!last) return;
  out.fail(sign.severity, sign.message,
           fmt::format("{}, the last: [{:.0f}] {}", count == 1 ? "1 line" : fmt::format("{} lines", count),
                       last->seconds, last->text),
           sign.remedy);
}

constexpr Sign hung{
    {{{"blocked for more than"},
      {"soft lockup"},
      {"hard lockup"},
      {"rcu", "stall"},
      {"unregister_netdevice: waiting"}}},
    {},
    0,
    Severity::warning,
    "tasks have hung in the kernel",
    "find the driver in the lines after it (dmesg -T); drain and reboot the node if it happens again"};
constexpr Sign oom{
    {{{"out of memory: killed"}, {"oom-kill:constraint=constraint_none"}}},
    {"memory cgroup"},
    3600,
    Severity::warning,
    "the machine ran out of memory and a process was killed",
    "give pods memory limits, reserve memory for the system (systemReserved of the kubelet), or add memory"};
constexpr Sign machine_check{
    {{{"machine check exception"},
      {"[hardware error]", "uncorrected"},
      {"mce:", "uncorrected"},
      {"edac", " ue "},
      {"event severity: fatal"},
      {"event severity: recoverable"}}},
    {},
    0,
    Severity::blocker,
    "the processor or main memory reports errors that were not corrected",
    "drain the node, find the part with ras-mc-ctl --summary or in the BMC's log, and replace it"};
constexpr Sign disk{{{{"i/o error"},
                      {"ext4-fs error"},
                      {"xfs", "error"},
                      {"xfs", "corruption"},
                      {"remounting filesystem read-only"},
                      {"md/raid", "disk failure"},
                      {"nvme", "timeout, "},
                      {"nvme", "removing after"}}},
                    {"dev sr", "dev fd", "dev loop", "dev nbd"},
                    0,
                    Severity::blocker,
                    "a disk or a file system reports errors",
                    "run smartctl -a on the disk that the line names; drain the node and replace the disk"};
constexpr Sign nic_power{{{{"mlx5", "insufficient power"}, {"mlx5", "high temperature"}}},
                         {},
                         0,
                         Severity::warning,
                         "a network card lacks power or is too hot",
                         "check its slot, power cable and fans; mget_temp -d SLOT reads the temperature"};
constexpr Sign peermem{{{{"peermem", "invalid context"}, {"peermem", "error"}}},
                       {},
                       0,
                       Severity::warning,
                       "nvidia_peermem reports errors",
                       "modprobe -r nvidia_peermem && modprobe nvidia_peermem while no job runs; if it "
                       "happens again, install the driver after MLNX_OFED, or use DMA-BUF"};

constexpr std::array log_rows = std::to_array<Check>({
    {"kernel.dmesg.hung-task", "no task hangs in the kernel", "a hung task cannot be killed", "kernel-log",
     node, search<hung>},
    {"kernel.dmesg.oom", "the machine has not run out of memory",
     "the kernel kills processes when memory runs out", "kernel-log", node, search<oom>},
    {"kernel.dmesg.mce", "the hardware reports no errors", "hardware errors precede crashes", "kernel-log",
     node, search<machine_check>},
    {"host.disk.io-errors", "disks and file systems report no errors", "errors precede the loss of data",
     "kernel-log", preflight | node, search<disk>},
    {"rdma.nic.power", "network cards have enough power and are not too hot",
     "otherwise they slow down or disappear", "rdma pci kernel-log", node, search<nic_power>},
    {"rdma.peermem.errors", "nvidia_peermem reports no errors", "GPUDirect stops working after errors",
     "rdma pci kernel-log", node, search<peermem>},
});

}  // namespace

std::span<const Check> log_checks() {
  return log_rows;
}

}  // namespace checks
