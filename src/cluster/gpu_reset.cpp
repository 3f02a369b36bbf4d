#include "gpuadm/cluster/gpu_reset.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cluster {

namespace {

using base::Error;
using base::Fault;
using facts::Gpu;

constexpr const char* reboot_hint =
    "reboot the host instead, after kubectl drain of its node; or keep the GPU from pods: gpuadm gpu "
    "quarantine";

std::string name_of_gpu(const Gpu& gpu) {
  return fmt::format("GPU {} ({})", gpu.index, gpu.uuid);
}

std::string reading(const Gpu& gpu, const std::string& path) {
  const auto place = gpu.readings.find(path);
  return place == gpu.readings.end() ? "" : place->second;
}

/// The GPUs that are connected to it by NVLink: "0, 2"; "unknown ones" if it has links and the topology was
/// not read. Empty: none.
std::string nvlink_peers(const facts::Nvidia& nvidia, const Gpu& gpu) {
  std::vector<std::string> peers;
  for (std::size_t i = 0; i < gpu.paths_to.size(); ++i)
    if (gpu.paths_to[i].starts_with("NV")) peers.push_back(std::to_string(i));
  if (peers.empty() && gpu.paths_to.empty() && nvidia.gpus.size() > 1 && gpu.nvlinks &&
      gpu.nvlinks->active > 0)
    return "unknown ones";
  return base::join(peers, ", ");
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// From Ampere on, a GPU is reset alone; with NVSwitches, Ampere needs the fabric manager for it.
std::optional<Error> nvlink_obstacle(const facts::Facts& host, const Gpu& gpu) {
  const std::string peers = nvlink_peers(host.nvidia, gpu);
  if (peers.empty()) return std::nullopt;
  const std::string model = gpu.architecture.value_or("");
  if (model.empty() || is_one_of(model, {"Pascal", "Volta", "Turing"}))
    return Error{
        Fault::blocked,
        fmt::format("{} is connected by NVLink to GPU {}, and GPUs of the architecture {} are reset "
                    "only together with their NVLink neighbors",
                    name_of_gpu(gpu), peers, model.empty() ? "of this host, which is unknown," : model),
        reboot_hint};
  const auto manager = host.software.units.find("nvidia-fabricmanager.service");
  const bool runs = manager != host.software.units.end() && manager->second.active == "active";
  if (model == "Ampere" && !host.nvidia.nvswitches.empty() && !runs)
    return Error{
        Fault::blocked,
        fmt::format("{} is connected by NVSwitches to GPU {}, and nvidia-fabricmanager.service, which "
                    "resets single GPUs, is not running",
                    name_of_gpu(gpu), peers),
        "systemctl start nvidia-fabricmanager on the host, then run again"};
  return std::nullopt;
}

/// Services that are stopped before the reset, or that do not prevent it. What a program calls itself does
/// not count.
bool is_service(const std::string& unit) {
  return is_one_of(unit, {"nvidia-persistenced.service", "nvidia-fabricmanager.service",
                          "nvidia-dcgm.service", "dcgm.service", "nvsm.service", "gpuadm-health.service"});
}

/// gpuadm's own pods of the device plugin and the DRA driver; they leave the node before the reset.
bool is_allocator(const facts::PodName& pod) {
  return pod.ns == "kube-system" &&
         std::ranges::any_of(std::to_array<std::string_view>(
                                 {"nvidia-device-plugin", "nvidia-mps-control-daemon", "nvidia-dra-driver"}),
                             [&](std::string_view name) { return pod.name.starts_with(name); });
}

/// The pods that have it: by the kubelet's allocations, and by claims.
std::vector<const facts::Pod*> pods_with(const facts::ClusterFacts& view, const std::string& node,
                                         const Gpu& gpu, const facts::GpuUsers& users,
                                         const std::map<std::string, facts::PodName, std::less<>>& names) {
  std::vector<std::string> wanted;
  for (const std::string& uid : users.pods.value_or(std::vector<std::string>()))
    if (const auto name = names.find(uid); name != names.end())
      wanted.push_back(name->second.ns + "/" + name->second.name);
  for (const facts::GpuDevice& device : gpu_devices(view, node))
    if (device.device.uuid == gpu.uuid || device.device.parent == gpu.uuid)
      std::ranges::copy(device.pods, std::back_inserter(wanted));
  std::vector<const facts::Pod*> pods;
  if (!view.pods) return pods;
  for (const facts::Pod& pod : *view.pods)
    if (pod.node == node && pod.phase != "Succeeded" && pod.phase != "Failed" &&
        std::ranges::find(wanted, pod.full()) != wanted.end())
      pods.push_back(&pod);
  return pods;
}

std::string user_text(const facts::GpuUser& user, const facts::PodName* pod) {
  const std::string name = user.name.empty() ? "unknown" : user.name;
  if (pod) return fmt::format("pod {}/{} ({}, pid {})", pod->ns, pod->name, name, user.pid);
  if (!user.pod_uid.empty()) return fmt::format("pod {} ({}, pid {})", user.pod_uid, name, user.pid);
  if (!user.container.empty())
    return fmt::format("container {} ({}, pid {})", user.container.substr(0, 12), name, user.pid);
  return fmt::format("{} (pid {})", name, user.pid);
}

}  // namespace

std::optional<PendingReset> pending_reset(const facts::Node& node) {
  const auto words = base::words(node.gpu_reset);
  if (words.size() != 3 || !facts::quarantined_in(fmt::format("{} {} -", words[0], words[1])))
    return std::nullopt;
  return PendingReset{std::string(words[0]), std::string(words[1])};
}

std::optional<Error> reset_obstacle(const facts::Facts& host, const Gpu& gpu, const std::string& name) {
  const auto blocked = [&](std::string what, std::string hint) {
    return Error{Fault::blocked, std::move(what), std::move(hint)};
  };
  if (gpu.mig == "Enabled")
    return blocked(
        fmt::format("{} is partitioned by MIG, and a reset would remove its instances", name_of_gpu(gpu)),
        fmt::format("gpuadm gpu mig {} off, then run again", name));
  const bool draws = std::ranges::any_of(gpu.processes, [](const facts::GpuProcess& process) {
    return process.type.find('G') != std::string::npos;
  });
  if (draws || reading(gpu, "display_active") == "Enabled")
    return blocked(
        fmt::format("{} drives a display", name_of_gpu(gpu)),
        "end the desktop with systemctl isolate multi-user.target and run again, or reboot the host");
  if (const std::string mode = reading(gpu, "gpu_virtualization_mode/virtualization_mode");
      is_one_of(mode, {"Host VGPU", "Host VSGA", "VGPU", "vGPU"}))
    return blocked(
        fmt::format("{} is shared by virtual machines (virtualization mode {})", name_of_gpu(gpu), mode),
        "reset it on the hypervisor, after its virtual machines have ended");
  if (const std::string action = gpu.recovery_action.value_or("None");
      is_one_of(action, {"Reboot", "Node Reboot", "Drain P2P"}))
    return blocked(
        fmt::format("the driver requires another recovery action of {}: {}", name_of_gpu(gpu), action),
        action == "Drain P2P" ? "end all programs that transfer data between GPUs, then run again"
                              : "reboot the host, after kubectl drain of its node");
  return nvlink_obstacle(host, gpu);
}

GpuHolders gpu_holders(const facts::ClusterFacts& view, const std::string& node, const Gpu& gpu,
                       const facts::GpuUsers& users,
                       const std::map<std::string, facts::PodName, std::less<>>& names) {
  GpuHolders holders;
  holders.pods = pods_with(view, node, gpu, users, names);
  const bool by_claims = !gpu_devices(view, node).empty();
  if (!users.pods && !by_claims) {
    holders.pods = gpu_pods(view, node);
    holders.all_gpu_pods = !holders.pods.empty();
  }
  for (const facts::GpuUser& user : users.programs) {
    const auto name = names.find(user.pod_uid);
    const facts::PodName* pod = name == names.end() ? nullptr : &name->second;
    const auto is_it = [&](const facts::Pod* one) {
      return pod && one->ns == pod->ns && one->name == pod->name;
    };
    const bool leaves = pod ? is_allocator(*pod) || std::ranges::any_of(holders.pods, is_it)
                            : user.pod_uid.empty() && user.container.empty() && is_service(user.service);
    if (!leaves) holders.others.push_back(user_text(user, pod));
  }
  return holders;
}

std::optional<Error> eviction_obstacle(const std::vector<const facts::Pod*>& pods) {
  for (const facts::Pod* pod : pods) {
    if (pod->owner.empty() || pod->owner == "Node")
      return Error{
          Fault::blocked, fmt::format("pod {} has no controller that starts it elsewhere", pod->full()),
          fmt::format("kubectl -n {} delete pod {}, when it is no longer needed", pod->ns, pod->name)};
    if (pod->owner == "DaemonSet")
      return Error{
          Fault::blocked,
          fmt::format("pod {} belongs to a DaemonSet, which would start it again on the node", pod->full()),
          "exclude the node with the nodeSelector of the DaemonSet, then run again"};
  }
  return std::nullopt;
}

void forget_log(facts::Facts& now, const facts::Facts& before) {
  const auto is_old = [](const auto& old) {
    return [&old](const auto& line) {
      return std::ranges::any_of(
          old, [&](const auto& one) { return one.seconds == line.seconds && one.text == line.text; });
    };
  };
  std::erase_if(now.nvidia.xids, is_old(before.nvidia.xids));
  if (now.kernel.log && before.kernel.log) std::erase_if(*now.kernel.log, is_old(*before.kernel.log));
}

std::vector<std::string> trouble_after_reset(const facts::Facts& now, const Gpu& gpu,
                                             const std::vector<report::Finding>& findings) {
  const auto place = std::ranges::find(now.nvidia.gpus, gpu.uuid, &Gpu::uuid);
  if (place == now.nvidia.gpus.end())
    return {"nvidia-smi does not list it any more" +
            (now.nvidia.smi_message.empty() ? "" : ": " + base::printable(now.nvidia.smi_message, 200))};
  std::vector<std::string> trouble;
  if (const std::string action = place->recovery_action.value_or("None"); action != "None")
    trouble.push_back("the driver requests another recovery action: " + base::printable(action, 50));
  for (const char* path : {"retired_pages/pending_retirement", "retired_pages/pending_blacklist"})
    if (reading(*place, path) == "Yes") {
      trouble.emplace_back("a memory page still waits for its retirement");
      break;
    }
  for (const report::Finding& finding : findings)
    if (finding.id.starts_with("gpu.") && checks::names_gpu(finding, place->bus_id, &*place) &&
        (report::blocks(finding) ||
         (finding.verdict == report::Verdict::unknown && finding.id.starts_with("gpu.health."))))
      trouble.push_back(fmt::format("{} ({})", finding.message, finding.id));
  return trouble;
}

}  // namespace cluster
