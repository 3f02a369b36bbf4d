#include "commands/install/consequence.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace commands {

namespace {

/// "8 NVIDIA H200 on gpu1", "4096 NVIDIA H200 on 512 hosts". Empty: none.
std::string gpus_in(const spec::Cluster& cluster, const facts::Census& census,
                    const std::set<std::string>& among) {
  std::size_t gpus = 0;
  std::set<std::string> models;
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts) {
    if (!among.contains(host.name)) continue;
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    const facts::Nvidia& nvidia = facts->second->nvidia;
    const std::size_t here = std::max(nvidia.gpus.size(), nvidia.pci_gpus.size());
    if (here == 0) continue;
    gpus += here;
    hosts.push_back(base::printable(host.name, 80));
    for (const facts::Gpu& gpu : nvidia.gpus) models.insert(base::printable(gpu.name, 50));
  }
  if (gpus == 0) return {};
  const std::string model = models.size() == 1 ? *models.begin() : gpus == 1 ? "GPU" : "GPUs";
  const std::string where = hosts.size() == 1 ? hosts.front() : fmt::format("{} hosts", hosts.size());
  return fmt::format("{} {} on {}", gpus, model, where);
}

}  // namespace

std::string consequence_for_gpus(const spec::Cluster& cluster, const facts::Census& census,
                                 const session::NeededEffects& needed) {
  const std::string gpus = gpus_in(cluster, census, needed.hosts);
  if (gpus.empty()) return "GPUs: no NVIDIA GPU was found on these hosts";
  const char* pods = cluster.gpu.allocator == spec::Allocator::none
                         ? "pods cannot use them (gpu.allocator: none)"
                         : "pods can use them afterwards";
  if (needed.phases.contains("gpu/driver"))
    return fmt::format("GPUs: {}: the driver is installed, which ends programs that use them; {}", gpus,
                       pods);
  if (!needed.reboots.empty())
    return fmt::format("GPUs: {}: {}; a reboot, if one is required, ends programs that use them now", gpus,
                       pods);
  if (needed.restarts.contains("docker.service"))
    return fmt::format("GPUs: {}: {}; Docker restarts, which ends containers without live-restore", gpus,
                       pods);
  return fmt::format("GPUs: {}: {}; programs that use them now keep running", gpus, pods);
}

}  // namespace commands
