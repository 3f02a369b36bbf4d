#include "gpuadm/base/text.hpp"

#include "checks/gpu/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace checks {

namespace {

using facts::Gpu;

constexpr const char* unit = "nvidia-fabricmanager.service";

/// What connects the GPUs of a host.
enum class Fabric { none, nvswitch, nvlink5 };

Fabric fabric_of(const facts::Facts& facts) {
  if (!facts.nvidia.nvlink_managers.empty()) return Fabric::nvlink5;
  return facts.nvidia.nvswitches.empty() ? Fabric::none : Fabric::nvswitch;
}

/// A host that must run the fabric manager itself; skipped with the reason otherwise.
bool needs_manager(const Subject& s, Verdicts& out) {
  if (fabric_of(s.facts) != Fabric::none) return true;
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
  if (fabric_of(s.facts) == Fabric::nvlink5)
    out.pass(fmt::format("NVLink 5, switches managed through {} network cards",
                         s.facts.nvidia.nvlink_managers.size()));
  else
    out.pass(fmt::format("{} NVSwitches", s.facts.nvidia.nvswitches.size()));
}

void manager_running(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  if (is_active(s.facts, unit)) return out.pass("active");
  if (s.facts.nvidia.gpus.size() < 2 && s.facts.nvidia.pci_gpus.size() < 2)
    return out.skip("one GPU needs no fabric");
  if (is_complete(s.facts)) return out.pass("the fabric is complete; its manager runs elsewhere");
  const auto place = s.facts.software.units.find(unit);
  const auto branch = s.facts.nvidia.driver ? branch_of(s.facts.nvidia.driver->version) : std::nullopt;
  if (place == s.facts.software.units.end())
    return out.fail(gpu_severity(s), "the fabric manager is not installed: CUDA programs end with error 802",
                    fmt::format("{} NVSwitches, no {}", s.facts.nvidia.nvswitches.size(), unit),
                    fmt::format("apt-get install nvidia-fabricmanager-{}, of the driver's exact version",
                                branch ? std::to_string(*branch) : "BRANCH"));
  out.fail(gpu_severity(s), "the fabric manager does not run: CUDA programs end with error 802",
           fmt::format("{} is {}", unit, place->second.active),
           "systemctl enable --now nvidia-fabricmanager; if it fails: journalctl -u nvidia-fabricmanager");
}

void manager_version(const Subject& s, Verdicts& out) {
  if (!needs_manager(s, out)) return;
  const auto& version = s.facts.nvidia.fabric_manager.version;
  if (!version) return out.skip("there is no nv-fabricmanager");
  if (!s.facts.nvidia.driver) return out.skip("no NVIDIA driver is loaded");
  if (*version != s.facts.nvidia.driver->version)
    out.fail(gpu_severity(s), "the fabric manager and the driver have different versions: it does not start",
             fmt::format("fabric manager {}, driver {}", *version, s.facts.nvidia.driver->version),
             fmt::format("install the fabric manager of version {} and hold both packages (apt-mark hold)",
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

bool is_zero(const std::string& uuid) {
  return uuid.find_first_not_of("0-") == std::string::npos;
}

/// The partitions of a rack's NVLink with the GPUs that have joined the fabric (gpu.fabric.state reports the
/// others); none if no NVLink connects to other machines.
std::set<std::string> cliques(const facts::Facts& facts) {
  std::set<std::string> found;
  bool rack = false;
  for (const Gpu& gpu : facts.nvidia.gpus) {
    if (word(gpu, "fabric/state").value_or("Completed") != "Completed") continue;
    const auto uuid = word(gpu, "fabric/clusterUuid").value_or("");
    rack = rack || !is_zero(uuid);
    found.insert(uuid + "." + word(gpu, "fabric/cliqueId").value_or(""));
  }
  return rack ? found : std::set<std::string>{};
}

void clique(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  const auto seen = cliques(s.facts);
  if (seen.empty()) return out.skip("no NVLink connects to other machines");
  if (seen.size() > 1)
    out.fail(Severity::warning, "GPUs of one machine are in different partitions of the rack's NVLink",
             list({seen.begin(), seen.end()}), "correct the partition in the rack's NVLink manager (NMX)");
  else
    out.pass(*seen.begin());
}

void imex(const Subject& s, Verdicts& out) {
  if (!lists_gpus(s, out)) return;
  if (cliques(s.facts).empty()) return out.skip("no NVLink connects to other machines");
  const auto place = s.facts.software.units.find("nvidia-imex.service");
  if (place == s.facts.software.units.end() || place->second.active == "inactive")
    return out.skip("the host has no IMEX service; NVIDIA's DRA driver runs its own");
  if (s.cluster.gpu.allocator == spec::Allocator::dra)
    return out.fail(Severity::warning, "the host's IMEX daemon conflicts with that of the DRA driver",
                    "nvidia-imex.service is " + place->second.active,
                    "systemctl disable --now nvidia-imex && systemctl mask nvidia-imex");
  if (place->second.active == "failed")
    return out.fail(Severity::warning, "the IMEX daemon has failed: machines cannot share memory",
                    "nvidia-imex.service is failed",
                    "journalctl -u nvidia-imex; correct /etc/nvidia-imex/nodes_config.cfg and restart it");
  if (!s.facts.software.paths.contains("/dev/nvidia-caps-imex-channels/channel0"))
    out.fail(Severity::warning, "the IMEX daemon runs, but has no channel for programs",
             "no /dev/nvidia-caps-imex-channels/channel0",
             "echo options nvidia NVreg_CreateImexChannel0=1 > /etc/modprobe.d/nvidia-imex.conf, and reload "
             "the driver");
}

void nvlsm(const Subject& s, Verdicts& out) {
  if (fabric_of(s.facts) != Fabric::nvlink5) return out.skip("the host has no NVLink 5 switches");
  std::vector<std::string> wrong;
  for (const char* module : {"ib_umad", "mlx5_core"})
    if (!is_loaded(s.facts, module)) wrong.push_back(fmt::format("module {} is not loaded", module));
  const bool there = s.facts.software.paths.contains("/opt/nvidia/nvlsm") ||
                     s.facts.software.packages.contains("nvlsm") ||
                     s.facts.software.units.contains("nvlsm.service");
  if (!there) wrong.emplace_back("nvlsm is not installed");
  if (!wrong.empty() && !is_complete(s.facts))
    out.fail(
        gpu_severity(s), "the subnet manager of NVLink 5 cannot work", list(wrong),
        "modprobe ib_umad; echo ib_umad > /etc/modules-load.d/ib_umad.conf; apt-get install nvlsm; systemctl "
        "restart nvidia-fabricmanager");
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
    {"gpu.fabric.flapping", "the fabric manager does not restart", "programs fail at each restart",
     "pci nvlink-managers units", preflight | node, flapping},
    {"gpu.fabric.manager-log", "the fabric manager reports no errors", "it detects broken links first",
     "pci nvlink-managers fabricmanager-log", preflight | node, manager_log},
    {"gpu.fabric.state", "every GPU is part of the fabric",
     "CUDA programs do not start on a GPU outside the fabric",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node, state},
    {"gpu.fabric.health", "the fabric is healthy", "jobs of many GPUs run at the speed of its worst link",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node, health},
    {"gpu.fabric.clique", "the GPUs of a machine are in the same NVLink partition",
     "jobs are placed by the partition", "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node,
     clique},
    {"gpu.fabric.imex-daemon", "memory can be shared between machines", "jobs over several machines need it",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml units paths", preflight | node, imex},
});

}  // namespace

std::span<const Check> gpu_fabric_checks() {
  return gpu_fabric_rows;
}

}  // namespace checks
