#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"
#include "checks/last_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace checks {

namespace {

using facts::Gpu;

constexpr const char* unit = "nvidia-fabricmanager.service";

/// What connects the GPUs of a host.
enum class Fabric { none, nvswitch, nvlink5 };

/// GPUs whose board has NVLink 5 switches, which are not PCI functions: B100, B200, B300. In GB200 and GB300
/// racks the switches are in other machines.
std::size_t nvlink5_gpus(const Subject& s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(s.facts.nvidia.pci_gpus, [&](const facts::PciGpu& gpu) {
        const GpuModel* model = s.data.find_gpu(gpu.device_id, gpu.subsystem);
        if (!model || model->kind != "datacenter" || model->name.contains(" GB")) return false;
        return std::ranges::any_of(std::array{"B100", "B200", "B300"},
                                   [&](const char* name) { return model->name.contains(name); });
      }));
}

Fabric fabric_of(const Subject& s) {
  if (!s.facts.nvidia.nvlink_managers.empty() || nvlink5_gpus(s) > 1) return Fabric::nvlink5;
  return s.facts.nvidia.nvswitches.empty() ? Fabric::none : Fabric::nvswitch;
}

/// A host that must run the fabric manager itself; skipped with the reason otherwise.
bool needs_manager(const Subject& s, Verdicts& out) {
  if (fabric_of(s) != Fabric::none) return true;
  if (is_gpu_host(s, out)) out.skip("the host has no NVSwitch");
  return false;
}

bool is_complete(const facts::Facts& facts) {
  return !facts.nvidia.gpus.empty() && std::ranges::all_of(facts.nvidia.gpus, [](const Gpu& gpu) {
    return word(gpu, "fabric/state") == "Completed" &&
           word(gpu, "fabric/status").value_or("Success") == "Success";
  });
}

void nvswitch_present(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  if (fabric_of(s) == Fabric::nvlink5)
    out.pass(s.facts.nvidia.nvlink_managers.empty()
                 ? fmt::format("NVLink 5 between {} GPUs", nvlink5_gpus(s))
                 : fmt::format("NVLink 5, switches managed through {} network cards",
                               s.facts.nvidia.nvlink_managers.size()));
  else
    out.pass(fmt::format("{} NVSwitches", s.facts.nvidia.nvswitches.size()));
}

/// What NVLink 5 needs on the host and is not there.
std::vector<std::string> missing_for_nvlink5(const Subject& s) {
  std::vector<std::string> missing;
  if (fabric_of(s) != Fabric::nvlink5) return missing;
  for (const char* module : {"ib_umad", "mlx5_core"})
    if (!is_loaded(s.facts, module)) missing.push_back(fmt::format("module {} is not loaded", module));
  const bool there = s.facts.software.paths.contains("/opt/nvidia/nvlsm") ||
                     s.facts.software.packages.contains("nvlsm") ||
                     s.facts.software.units.contains("nvlsm.service");
  if (!there) missing.emplace_back("nvlsm is not installed");
  return missing;
}

/// The last words of the fabric manager: in its own log, otherwise in the journal.
std::optional<LastLine> last_words(const facts::Facts& facts, const facts::Unit& place) {
  if (!is_failing(place)) return std::nullopt;
  std::vector<std::string> lines;
  if (facts.nvidia.fabric_manager.log)
    for (const std::string& line : *facts.nvidia.fabric_manager.log) {
      if (base::lower(line).contains("successfully configured")) lines.clear();
      lines.push_back(line);
    }
  if (auto words = last_line(lines, unit_lines()); words && weight(words->line) > 1) return words;
  return last_line(place.log, unit_lines());
}

void manager_running(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  if (is_running(s.facts, unit)) return out.pass("active");
  if (s.facts.nvidia.gpus.size() < 2 && s.facts.nvidia.pci_gpus.size() < 2)
    return out.skip("one GPU needs no fabric");
  if (is_complete(s.facts)) return out.pass("the fabric is complete; its manager runs elsewhere");
  const auto place = s.facts.software.units.find(unit);
  const std::string missing = list(missing_for_nvlink5(s));
  const std::string lacks = missing.empty() ? "" : "; " + missing;
  if (place == s.facts.software.units.end())
    return out.fail(
        gpu_severity(s), "the fabric manager is not installed: CUDA programs end with error 802",
        (fabric_of(s) == Fabric::nvlink5
             ? fmt::format("NVLink 5 between {} GPUs, no {}", s.facts.nvidia.pci_gpus.size(), unit)
             : fmt::format("{} NVSwitches, no {}", s.facts.nvidia.nvswitches.size(), unit)) +
            lacks,
        "@install-fabric-manager@, of the driver's exact version");
  const auto words = last_words(s.facts, place->second);
  out.fail(gpu_severity(s),
           words ? "the fabric manager does not run: " + words->message()
                 : std::string("the fabric manager does not run: CUDA programs end with error 802"),
           fmt::format("{} is {}{}{}", unit, place->second.active, lacks,
                       words ? "; " + words->evidence("its log") : ""),
           words ? words->remedy("journalctl -u nvidia-fabricmanager -n 50, and /var/log/fabricmanager.log")
                 : std::string("systemctl enable --now nvidia-fabricmanager; if it fails: journalctl -u "
                               "nvidia-fabricmanager"));
}

void manager_version(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  const auto& version = s.facts.nvidia.fabric_manager.version;
  if (!version) return out.skip("there is no nv-fabricmanager");
  if (!s.facts.nvidia.driver) return out.skip("no NVIDIA driver is loaded");
  if (*version != s.facts.nvidia.driver->version)
    out.fail(gpu_severity(s), "the fabric manager and the driver have different versions: it does not start",
             fmt::format("fabric manager {}, driver {}", *version, s.facts.nvidia.driver->version),
             fmt::format("install the fabric manager of version {} and hold both packages (@hold@)",
                         s.facts.nvidia.driver->version));
}

void manager_log(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  if (!s.facts.nvidia.fabric_manager.log) return out.skip("there is no /var/log/fabricmanager.log");
  std::vector<std::string> severe;
  for (const std::string& line : *s.facts.nvidia.fabric_manager.log) {
    const std::string low = base::lower(line);
    // Errors before the fabric was up are resolved.
    if (low.find("successfully configured") != std::string::npos) severe.clear();
    if (low.find("nothing_to_do") != std::string::npos || low.find("non-fatal") != std::string::npos)
      continue;
    if (low.find("[error]") != std::string::npos || low.find("fatal") != std::string::npos)
      severe.push_back(line);
  }
  if (!severe.empty())
    out.fail(
        gpu_severity(s), "the fabric manager's log has errors", last_of(severe),
        "read /var/log/fabricmanager.log; reset the GPUs and restart nvidia-fabricmanager after draining the "
        "node; have the board checked if it happens again");
}

void manager_config(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  const auto& config = s.facts.nvidia.fabric_manager.config;
  if (config.empty()) return out.skip("there is no fabricmanager.cfg");
  for (const auto& [key, usual] : {std::pair{"FABRIC_MODE", "0"}, std::pair{"DAEMONIZE", "1"}})
    if (const auto place = config.find(key); place != config.end() && place->second != usual)
      out.fail(Severity::warning, "the fabric manager is not configured for bare metal",
               fmt::format("{}={}, usual is {}", key, place->second, usual),
               "restore it in /usr/share/nvidia/nvswitch/fabricmanager.cfg (unless virtual machines share "
               "the GPUs), then: systemctl restart nvidia-fabricmanager");
}

void state(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  bool any = false;
  for (const Gpu& gpu : s.facts.nvidia.gpus) {
    const auto state = word(gpu, "fabric/state"), status = word(gpu, "fabric/status");
    if (!state) continue;
    any = true;
    if (*state == "Completed" && status.value_or("Success") == "Success") continue;
    // The fabric manager takes some minutes after boot.
    const bool young = *state == "In Progress" && s.facts.kernel.uptime && *s.facts.kernel.uptime < 300;
    out.fail(young ? Severity::note : gpu_severity(s),
             fmt::format("{} is not part of the fabric yet: CUDA programs end with error 802", name_of(gpu)),
             fmt::format("state {}, status {}", *state, status.value_or("unknown")),
             "systemctl restart nvidia-fabricmanager; if that does not help, drain the node and reset the "
             "GPUs");
  }
  if (!any) out.skip("the GPUs are not connected by a fabric");
}

std::optional<bool> is_unhealthy(std::string_view value) {
  static constexpr std::array<std::string_view, 6> bad = {"Unhealthy", "Limited", "Degraded",
                                                          "True",      "Yes",     "Incorrect"};
  static constexpr std::array<std::string_view, 5> good = {"Healthy", "Full", "False", "No", "None"};
  const auto begins = [&](std::string_view word) { return value.starts_with(word); };
  const bool is_bad = std::ranges::any_of(bad, begins);
  return is_bad || std::ranges::any_of(good, begins) ? std::optional(is_bad) : std::nullopt;
}

constexpr std::array healths = std::to_array<Reading>({
    {"fabric/health/summary", "summary"},
    {"fabric/health/bandwidth", "bandwidth"},
    {"fabric/health/route_unhealthy", "route unhealthy"},
    {"fabric/health/access_timeout_recovery", "access timeout recovery"},
    {"fabric/health/incorrect_configuration", "configuration"},
});

void health(const Subject& s, Verdicts& out) {
  judge(s, out, Severity::warning,
        {.readings = healths,
         .bad = is_unhealthy,
         .message = "the fabric is unhealthy at {}",
         .remedy = "check the fabric manager's log and the switches; drain the node and reset GPU {i}"});
}

void nvlsm(const Subject& s, Verdicts& out) {
  if (fabric_of(s) != Fabric::nvlink5) return out.skip("the host has no NVLink 5 switches");
  const std::vector<std::string> wrong = missing_for_nvlink5(s);
  if (!wrong.empty() && !is_complete(s.facts))
    out.fail(gpu_severity(s), "the subnet manager of NVLink 5 cannot work", list(wrong),
             "modprobe ib_umad; echo ib_umad > /etc/modules-load.d/ib_umad.conf; @install-nvlsm@; systemctl "
             "restart nvidia-fabricmanager");
}

/// A fabric manager without switches fails at each boot, and nothing needs it.
void manager_needed(const Subject& s, Verdicts& out) {
  const auto place = s.facts.software.units.find(unit);
  if (place == s.facts.software.units.end()) return out.skip("there is no " + std::string(unit));
  if (fabric_of(s) != Fabric::none) return out.pass("the GPUs are connected by switches");
  if (!is_gpu_host(s, out)) return;
  if (place->second.active != "failed") return out.pass("it does not fail");
  const auto words = last_words(s.facts, place->second);
  out.fail(Severity::warning, "the fabric manager fails, and this host needs none: it has no NVSwitch",
           words ? words->evidence("its log") : fmt::format("{} is failed", unit),
           "systemctl disable --now nvidia-fabricmanager && systemctl reset-failed nvidia-fabricmanager");
}

void flapping(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  const auto place = s.facts.software.units.find(unit);
  if (place == s.facts.software.units.end() || !place->second.restarts)
    return out.skip("systemd has recorded no restarts of the fabric manager");
  if (*place->second.restarts >= 3)
    out.fail(Severity::warning, "the fabric manager restarts repeatedly",
             fmt::format("{} restarts", *place->second.restarts),
             "journalctl -u nvidia-fabricmanager -n 50, and compare its version with the driver's");
}

constexpr std::array gpu_fabric_rows = std::to_array<Check>({
    {"gpu.fabric.nvswitch-present", "the type of the GPU fabric is known", "NVSwitches need a fabric manager",
     "pci nvlink-managers", preflight | node, nvswitch_present},
    {"gpu.fabric.manager-version", "the fabric manager and the driver have the same version",
     "the fabric manager refuses any other driver version",
     "pci nvlink-managers fabricmanager /proc/driver/nvidia/version", preflight | node, manager_version},
    {"gpu.fabric.manager-config", "the fabric manager is configured for bare metal",
     "other modes are for virtual machines",
     "pci nvlink-managers /usr/share/nvidia/nvswitch/fabricmanager.cfg", preflight | node, manager_config},
    {"gpu.fabric.nvlsm", "the subnet manager of NVLink 5 can work",
     "its switches are managed over InfiniBand",
     "pci nvlink-managers /proc/modules /sys/module/ paths packages units nvidia-smi-xml", preflight | node,
     nvlsm},
    {"gpu.fabric.manager-running", "the fabric manager runs", "without it no CUDA program starts",
     "pci nvlink-managers units nvidia-smi-xml", preflight | node, manager_running},
    {"gpu.fabric.manager-needed", "no fabric manager fails on a host without NVSwitches",
     "such hosts need none", "pci nvlink-managers units", preflight | node, manager_needed},
    {"gpu.fabric.flapping", "the fabric manager does not restart", "programs fail at each restart",
     "pci nvlink-managers units", preflight | node, flapping},
    {"gpu.fabric.manager-log", "the fabric manager reports no errors", "it detects broken links first",
     "pci nvlink-managers fabricmanager-log", preflight | node, manager_log},
    {"gpu.fabric.state", "every GPU is part of the fabric",
     "CUDA programs do not start on a GPU outside the fabric",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node, state},
    {"gpu.fabric.health", "the fabric is healthy", "jobs of many GPUs run at the speed of its worst link",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node, health},
});

}  // namespace

std::span<const Check> gpu_fabric_checks() {
  return gpu_fabric_rows;
}

}  // namespace checks
