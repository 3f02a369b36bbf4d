#include "checks/gpu/queries.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

/// Whether the driver could start every GPU, and its firmware answers.
namespace checks {

namespace {

using facts::Xid;

constexpr std::array<std::string_view, 5> failed_init = {"RmInitAdapter failed", "rm_init_adapter failed",
                                                         "failed to copy vbios", "No NVIDIA GPU found",
                                                         "probe routine failed for"};
/// NVIDIA/open-gpu-kernel-modules: kernel_gsp.c, osinit.c, nv.c. What the driver says before it gives up.
constexpr std::array init_lines = {
    KnownLine{"wpr2 already up",
              "a GPU's firmware (GSP) still runs from before: the driver cannot start it again",
              "power-cycle the machine: shut it down and take its power away for a minute (a reboot does not "
              "reset the GPU)"},
    KnownLine{"requires use of the nvidia open kernel modules",
              "the GPU needs the open kernel modules of the driver", "@install-driver@, then reboot"},
    KnownLine{"does not have the necessary power cables", "a GPU's power cables are not connected",
              "shut the machine down and connect them"},
    KnownLine{"i/o region assigned to your nvidia device is invalid",
              "the firmware of the machine gave a GPU no memory window",
              "enable Above 4G Decoding (large BARs) in the BIOS, or boot with pci=realloc"},
    KnownLine{"already bound to", "another driver holds a GPU",
              "lspci -k -d 10de: shows it; blacklist it, then reboot"},
    KnownLine{"failed to copy vbios", "the driver cannot read a GPU's VBIOS",
              "power-cycle the machine; in a virtual machine: pass the GPU through with its ROM"},
    KnownLine{"no firmware image found", "the driver finds no firmware (GSP) for a GPU", "@driver-firmware@"},
    KnownLine{"fallen off the bus", "a GPU has fallen off the bus",
              "drain the node and power-cycle the machine; check seat, riser and power"},
    KnownLine{"unable to change power state", "a GPU does not leave its sleep state (D3cold)",
              "power-cycle the machine; if it happens again: disable ASPM and D3cold of its slot (boot with "
              "pcie_aspm=off pcie_port_pm=off), check its seat and riser"},
};

/// What the driver and the bus say of the GPUs before the attempt that failed last, at most four lines: the
/// first one says why.
std::vector<std::string> lines_of_start(const std::vector<facts::LogLine>& log,
                                        const std::vector<facts::PciGpu>& gpus) {
  const auto is_of_start = [&](const std::string& text) {
    return text.contains("NVRM") || std::ranges::any_of(gpus, [&](const facts::PciGpu& gpu) {
             return !gpu.slot.empty() && text.contains(gpu.slot);
           });
  };
  const auto fails = [](const facts::LogLine& line) {
    return std::ranges::any_of(failed_init, [&](std::string_view word) { return line.text.contains(word); });
  };
  auto end = log.size();
  while (end > 0 && !fails(log[end - 1])) --end;
  // The lines of one attempt follow each other.
  auto begin = end;
  while (begin > 0 && fails(log[begin - 1])) --begin;
  std::vector<std::string> lines;
  for (std::size_t i = begin; i > 0 && lines.size() < 4; --i) {
    const facts::LogLine& line = log[i - 1];
    const double before = log[end - 1].seconds - line.seconds;
    if (!is_of_start(line.text) || before > 5 || before < 0) break;
    lines.insert(lines.begin(), line.text);
  }
  return lines;
}

constexpr std::array failed_init_lines = {
    KnownLine{"rminitadapter failed", "", ""}, KnownLine{"rm_init_adapter failed", "", ""},
    KnownLine{"xid (", "", ""}, KnownLine{"gpu at pci", "", ""}, KnownLine{"loading nvidia", "", ""},
    // What every start of the driver prints about the device, without an error.
    KnownLine{"enabling device", "", ""}, KnownLine{"vgaarb:", "", ""}};

void rminit_failed(const Subject& s, Verdicts& out) {
  if (!has_log(s, out)) return;
  const auto failures = log_lines(s.facts, failed_init);
  if (failures.empty()) return out.pass("no such line " + since(s));
  const auto lines = lines_of_start(*s.facts.kernel.log, s.facts.nvidia.pci_gpus);
  const auto known = known_line(lines, init_lines);
  const auto cause =
      std::ranges::find_if(lines, [](const std::string& line) { return !known_of(line, failed_init_lines); });
  const bool plain = !known && cause == lines.end();
  // The line with the numbers, by which reports of others are found.
  const auto numbers =
      std::ranges::find_if(failures, [](const std::string& line) { return line.contains("(0x"); });
  const std::string first = known                       ? known->line
                            : !plain                    ? *cause
                            : numbers != failures.end() ? *numbers
                                                        : failures.back();
  out.fail(
      gpu_severity(s),
      known   ? "the driver could not start a GPU: " + known->message()
      : plain ? "the driver could not start a GPU"
              : "the driver could not start a GPU: " + first.substr(first.starts_with("NVRM: ") ? 6 : 0),
      first == failures.back() ? last_of(failures) : fmt::format("{}; then: {}", first, failures.back()),
      known ? std::string(known->known->remedy)
            : "dmesg | grep -B5 -A5 NVRM; usual causes are power, firmware settings of memory windows, the "
              "wrong kernel module flavor and missing GSP firmware");
}

constexpr std::array<std::string_view, 2> gsp = {"_kgspIsHeartbeatTimedOut", "rpcRecvPoll timedout"};
void gsp_rpc(const Subject& s, Verdicts& out) {
  if (!has_log(s, out)) return;
  auto lines = log_lines(s.facts, gsp);
  for (const Xid& xid : s.facts.nvidia.xids)
    if (xid.code == 119 || xid.code == 120) lines.push_back(fmt::format("Xid {}, {}", xid.code, xid.text));
  if (!lines.empty())
    return out.fail(
        gpu_severity(s), "a GPU's own firmware (GSP) does not answer the driver", last_of(lines),
        "drain the node and reset the GPU (if that fails, power-cycle the machine), then upgrade the driver");
  out.pass("no such line " + since(s));
}

constexpr std::array gpu_start_rows = std::to_array<Check>({
    {"gpu.driver.rminit-failed", "the driver started every GPU", "a GPU that fails to start is missing",
     "pci kernel-log", preflight | node, rminit_failed},
    {"gpu.driver.gsp-rpc-errors", "the GPU firmware (GSP) answers the driver",
     "a GPU with hung firmware blocks every program that uses it", "pci kernel-log", preflight | node,
     gsp_rpc},
});

}  // namespace

std::span<const Check> gpu_start_checks() {
  return gpu_start_rows;
}

}  // namespace checks
