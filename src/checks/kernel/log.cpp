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
/// A container at its memory limit: a state of its pod, not of the host.
constexpr Sign limit_of_container{
    {{{"memory cgroup out of memory"}, {"oom-kill:constraint=constraint_memcg"}, {"invoked oom-killer"}}},
    {},
    0,
    Severity::note,
    "",
    ""};
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
constexpr Sign peermem{{{{"peermem", "invalid context"},
                         {"peermem", "error"},
                         {"peermem", "disagrees about version"},
                         {"peermem", "unknown symbol"}}},
                       {},
                       0,
                       Severity::warning,
                       "nvidia_peermem reports errors",
                       "modprobe -r nvidia_peermem && modprobe nvidia_peermem while no job runs; if it "
                       "happens again, install the driver after MLNX_OFED, or use DMA-BUF"};

constexpr Sign conntrack_full{
    {{{"nf_conntrack", "table full"}}},
    {},
    86'400,
    Severity::warning,
    "the table of tracked connections was full: new connections were dropped",
    "sysctl -w net.netfilter.nf_conntrack_max=1048576 | tee -a "
    "/etc/sysctl.d/99-gpuadm.conf; find the program that opens so many connections"};
constexpr Sign upperdir{
    {{{"overlayfs", "not supported as upperdir"}, {"overlayfs", "failed to"}}},
    {},
    0,
    Severity::warning,
    "the kernel refuses an overlay file system: containers do not start on that file system",
    "mount ext4 or XFS on the folder of images (/var/lib/containerd)"};
/// AppArmor's profile of containers lacks the rule for runc's own profile: runc#4281, containerd#10542.
constexpr Sign signals{
    {{{"apparmor=\"denied\"", "operation=\"signal\""}}},
    {},
    86'400,
    Severity::warning,
    "AppArmor does not let the container runtime signal containers: pods cannot be stopped",
    "upgrade containerd (its profile allows runc since 1.7.21 and 2.0), or: apparmor_parser -R "
    "/etc/apparmor.d/runc"};
constexpr Sign denied{{{{"apparmor=\"denied\"", "nvidia"},
                        {"apparmor=\"denied\"", "containerd"},
                        {"apparmor=\"denied\"", "kubelet"},
                        {"apparmor=\"denied\"", "crio"}}},
                      {"operation=\"signal\"", "operation=\"ptrace\""},
                      86'400,
                      Severity::note,
                      "AppArmor has denied something to a container or its runtime today",
                      "aa-status; if it belongs to the program: change the profile that the line names"};

/// Lines that another check is about, or that report no fault.
constexpr std::array<const Sign*, 10> all_signs = {
    &hung,      &oom,     &limit_of_container, &machine_check, &disk,
    &nic_power, &peermem, &conntrack_full,     &upperdir,      &signals};

/// Whether a line of the log reports an error: by its priority, otherwise by its words.
bool reports_error(const LogLine& line) {
  const std::string low = base::lower(line.text);
  // A driver that loads says so with the priority of an error.
  if (low.contains("nvrm: loading nvidia")) return false;
  if (line.severe) return true;
  for (const char* word : {"xid (", "pcie bus error", "bar ", "module verification failed"})
    if (low.contains(word)) return false;
  for (const char* word :
       {"error", "failed", "fail:", "rejected", "denied", "cannot", "can't", "unable to", "not supported",
        "timed out", "corrupt", "invalid", "refused", "unknown symbol", "disagrees about", "version magic"})
    if (low.contains(word)) return true;
  return false;
}

/// What no check knows is shown as the kernel wrote it.
void other_errors(const Subject& s, Verdicts& out) {
  constexpr std::size_t most = 5;
  if (!s.facts.kernel.log) return out.unknown("the kernel's log could not be read");
  std::vector<std::string> lines;
  for (const LogLine& line : *s.facts.kernel.log) {
    const bool known =
        std::ranges::any_of(all_signs, [&](const Sign* sign) { return shows(*sign, line.text); }) ||
        shows(denied, line.text);
    if (known || !reports_error(line)) continue;
    std::erase(lines, line.text);
    lines.push_back(line.text);
  }
  if (lines.empty()) return;
  std::string text;
  const std::size_t first = lines.size() > most ? lines.size() - most : 0;
  for (std::size_t i = lines.size(); i > first; --i) text += (text.empty() ? "" : "; ") + lines[i - 1];
  if (first > 0) text += fmt::format("; and {} more", first);
  out.fail(
      Severity::note, "the kernel's log has errors that gpuadm does not know", text,
      "dmesg -T --level=emerg,alert,crit,err; search the documentation of the driver that the line names");
}

constexpr std::array log_rows = std::to_array<Check>({
    {"kernel.dmesg.hung-task", "no task hangs in the kernel", "a hung task cannot be killed", "kernel-log",
     node, search<hung>},
    {"kernel.dmesg.oom", "the machine has not run out of memory",
     "the kernel kills processes when memory runs out", "kernel-log", node, search<oom>},
    {"kernel.dmesg.mce", "the hardware reports no errors", "hardware errors precede crashes", "kernel-log",
     node, search<machine_check>},
    {"kernel.dmesg.conntrack-full", "the table of tracked connections is not full",
     "new connections are dropped when it is full", "kernel-log", node, search<conntrack_full>},
    {"kernel.dmesg.overlayfs", "overlay file systems can be mounted", "containers do not start without them",
     "kernel-log", preflight | node, search<upperdir>},
    {"kernel.dmesg.apparmor-signal", "AppArmor lets the runtime stop containers",
     "pods stay Terminating otherwise", "kernel-log", node, search<signals>},
    {"kernel.dmesg.apparmor", "AppArmor has denied containers nothing today", "a denial looks like a fault",
     "kernel-log", node, search<denied>},
    {"kernel.dmesg.errors", "the kernel's log has no other errors", "an error may explain what fails",
     "kernel-log", preflight | node, other_errors},
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
