#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

namespace checks {

namespace {

using facts::Xid;

constexpr double day = 86'400;

/// Errors of one number on one device.
struct Errors {
  const XidKind* kind = nullptr;
  int times = 0;
  Xid last;
  std::set<std::string> pids;
};
using ByDevice = std::map<std::pair<std::string, int>, Errors>;

/// "pid='<unknown>', name=…", "pid=1234, name=python": the number, or nothing.
std::string pid_of(const std::string& text) {
  const std::size_t at = text.find("pid=");
  if (at == std::string::npos) return {};
  std::string pid = text.substr(at + 4, text.find(',', at) - at - 4);
  std::erase(pid, '\'');
  return base::to_int(pid) ? pid : "";
}

ByDevice group(const std::vector<Xid>& all, const std::map<int, XidKind>& kinds,
               bool (*wanted)(const Xid&, const XidKind&)) {
  static const XidKind unheard{"an unlisted error", "look it up in NVIDIA's list of Xids", "warn"};
  ByDevice found;
  for (const Xid& xid : all) {
    const auto kind = kinds.find(xid.code);
    const XidKind& known = kind == kinds.end() ? unheard : kind->second;
    if (!wanted(xid, known)) continue;
    Errors& errors = found[{xid.slot, xid.code}];
    errors.kind = &known;
    errors.last = xid;
    ++errors.times;
    if (auto pid = pid_of(xid.text); !pid.empty()) errors.pids.insert(std::move(pid));
  }
  return found;
}

/// NVLink 5 uses one number for minor and severe errors; the line distinguishes them.
bool is_mild(const Xid& xid) {
  return xid.code >= 144 && xid.code <= 150 && xid.text.find("Nonfatal") != std::string::npos;
}

/// The driver's latest advice on a GPU.
constexpr int recovery_changed = 154;

/// "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": the text in the last
/// parentheses.
std::string_view advice_of(const Xid& xid) {
  const std::string_view text = xid.text;
  const std::size_t to = text.rfind(" to "), open = text.find('(', to), close = text.find(')', open);
  return to == std::string_view::npos || close == std::string_view::npos
             ? "read the line"
             : text.substr(open + 1, close - open - 1);
}

bool is_fatal(const Xid& xid, const XidKind& kind) {
  if (xid.code == recovery_changed) return advice_of(xid) != "None";
  return kind.severity == "error" && !is_mild(xid);
}

/// Only the last advice of the driver for each GPU is relevant.
std::vector<Xid> in_force(const std::vector<Xid>& all) {
  std::vector<Xid> found;
  for (const Xid& xid : all) {
    if (xid.code == recovery_changed)
      std::erase_if(found, [&](const Xid& old) { return old.code == xid.code && old.slot == xid.slot; });
    found.push_back(xid);
  }
  std::erase_if(found,
                [](const Xid& xid) { return xid.code == recovery_changed && advice_of(xid) == "None"; });
  return found;
}

/// The remedy for errors: from the list, or from the driver.
std::string remedy_of(const Errors& errors) {
  if (errors.last.code != recovery_changed) return "do this: " + errors.kind->action;
  return fmt::format("drain the node, then follow the driver's advice: {}", advice_of(errors.last));
}

/// Most lines state it; the list contains those that always are.
bool is_fatal_sxid(const Xid& sxid, const XidKind& kind) {
  return sxid.text.starts_with("Fatal") || (kind.severity == "error" && !sxid.text.starts_with("Non-fatal"));
}

/// "3 times, the last 12 min ago: …"
std::string evidence_of(const Subject& s, const Errors& errors) {
  const std::string ago =
      s.facts.kernel.uptime
          ? base::human_seconds(std::max(0.0, *s.facts.kernel.uptime - errors.last.seconds)) + " ago"
          : fmt::format("{} after boot", base::human_seconds(errors.last.seconds));
  return fmt::format("{}{}: {}", errors.times == 1 ? "" : fmt::format("{} times, the last ", errors.times),
                     ago, errors.last.text);
}

bool is_old(const Subject& s, const Errors& errors) {
  return s.facts.kernel.uptime && *s.facts.kernel.uptime - errors.last.seconds > day;
}

void report(const Subject& s, Verdicts& out, const ByDevice& found, const char* what) {
  for (const auto& [place, errors] : found)
    out.fail(is_old(s, errors) && place.second != recovery_changed ? Severity::note : gpu_severity(s),
             fmt::format("{} {} on {}: {}", what, place.second, place.first, errors.kind->name),
             evidence_of(s, errors), remedy_of(errors));
}

void xid_fatal(const Subject& s, Verdicts& out) {
  if (!has_log(s, out)) return;
  report(s, out, group(in_force(s.facts.nvidia.xids), s.data.xids, is_fatal), "Xid");
  if (out.silent()) out.pass("no fatal Xid " + since(s));
}

/// Errors caused by programs; if many programs cause them on one GPU, the GPU is faulty.
void xid_app(const Subject& s, Verdicts& out) {
  if (!has_log(s, out)) return;
  const auto found = group(
      in_force(s.facts.nvidia.xids), s.data.xids,
      [](const Xid& xid, const XidKind& kind) { return !is_fatal(xid, kind) && kind.severity != "info"; });
  for (const auto& [place, errors] : found) {
    const bool many = errors.pids.size() > 2;
    out.fail(many ? Severity::warning : Severity::note,
             fmt::format("Xid {} on {}: {}", place.second, place.first, errors.kind->name),
             (many ? fmt::format("{} programs, ", errors.pids.size()) : "") + evidence_of(s, errors),
             many ? "test this GPU with dcgmi diag -r 3 after draining the node" : remedy_of(errors));
  }
  if (out.silent()) out.pass("no Xid of a program " + since(s));
}

void sxid_fatal(const Subject& s, Verdicts& out) {
  if (!has_log(s, out)) return;
  report(s, out, group(s.facts.nvidia.sxids, s.data.sxids, is_fatal_sxid), "SXid");
  if (out.silent())
    out.pass(fmt::format("{} SXids {}, none of them fatal", s.facts.nvidia.sxids.size(), since(s)));
}

/// Lines of the log with the same meaning.
struct Signs {
  std::span<const std::string_view> words;
  const char* message;
  const char* remedy;
};

void report(const Subject& s, Verdicts& out, Severity severity, const Signs& signs) {
  if (!has_log(s, out)) return;
  if (const auto lines = log_lines(s.facts, signs.words); !lines.empty())
    out.fail(severity, signs.message, last_of(lines), signs.remedy);
  else
    out.pass("no such line " + since(s));
}

constexpr std::array<std::string_view, 1> lost = {"allen off the bus"};
void fell_off_bus(const Subject& s, Verdicts& out) {
  if (s.facts.nvidia.smi_status == 15)
    return out.fail(gpu_severity(s), "a GPU has fallen off the bus", s.facts.nvidia.smi_message,
                    "drain the node and power-cycle the machine; replace the GPU if it happens again");
  report(s, out, gpu_severity(s),
         {lost, "a GPU has fallen off the bus",
          "drain the node and power-cycle the machine; check seat, riser and power; replace the GPU if it "
          "happens again"});
}

constexpr std::array<std::string_view, 1> nccl = {"libnccl"};
void nccl_segfault(const Subject& s, Verdicts& out) {
  report(
      s, out, Severity::warning,
      {nccl, "a program crashed in NCCL", "use an image with a newer NCCL, or report it with the core dump"});
}

constexpr std::array gpu_log_rows = std::to_array<Check>({
    {"gpu.health.fell-off-bus", "no GPU has fallen off the bus", "such a GPU needs at least a restart",
     "pci kernel-log nvidia-smi", preflight | node, fell_off_bus},
    {"gpu.health.xid-fatal", "the kernel's log has no fatal Xid",
     "the driver reports hardware faults as Xids", "pci kernel-log", preflight | node, xid_fatal},
    {"gpu.health.xid-app", "the kernel's log has no Xid of a program",
     "one GPU that fails many programs is broken", "pci kernel-log", preflight | node, xid_app},
    {"gpu.health.sxid-fatal", "the kernel's log has no fatal SXid", "NVSwitches report errors as SXids",
     "pci kernel-log", preflight | node, sxid_fatal},
    {"gpu.health.nccl-segfault", "no program crashed in NCCL", "a multi-GPU job fails with it",
     "pci kernel-log", preflight | node, nccl_segfault},
});

}  // namespace

std::span<const Check> gpu_log_checks() {
  return gpu_log_rows;
}

}  // namespace checks
