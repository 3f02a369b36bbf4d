#include "checks/gpu/queries.hpp"

#include <array>
#include <set>

/// NVLink between machines.
namespace checks {

namespace {

using facts::Gpu;

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

constexpr std::array gpu_rack_rows = std::to_array<Check>({
    {"gpu.fabric.clique", "the GPUs of a machine are in the same NVLink partition",
     "jobs are placed by the partition", "pci nvlink-managers nvidia-smi nvidia-smi-xml", preflight | node,
     clique},
    {"gpu.fabric.imex-daemon", "memory can be shared between machines", "jobs over several machines need it",
     "pci nvlink-managers nvidia-smi nvidia-smi-xml units paths", preflight | node, imex},
});

}  // namespace

std::span<const Check> gpu_rack_checks() {
  return gpu_rack_rows;
}

}  // namespace checks
