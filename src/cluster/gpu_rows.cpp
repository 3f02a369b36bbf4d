#include "gpuadm/cluster/gpu_rows.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace cluster {

namespace {

using base::Tree;
using facts::ClusterFacts;
using facts::Facts;
using report::Finding;

constexpr const char* slices_unknown = "the ResourceSlices could not be read";

long long number_of(const std::map<std::string, std::string>& resources) {
  long long all = 0;
  for (const auto& [name, value] : resources)
    if (name.starts_with("nvidia.com/gpu") || name.starts_with("nvidia.com/mig-"))
      all += base::to_int(value).value_or(0);
  return all;
}

std::string label(const facts::Node& node, const std::string& name) {
  const auto place = node.labels.find(name);
  return place == node.labels.end() ? "" : place->second;
}

/// State of a host while its rows are computed.
struct HostView {
  const spec::Cluster& cluster;
  const std::string& host;
  const Facts& facts;
  const ClusterFacts* view;
  const facts::Node* node;
  bool claims;                            ///< the node's GPUs are allocated by claims
  std::vector<facts::GpuDevice> devices;  ///< then: devices in slices
  std::vector<const Finding*> findings;   ///< open ones of the host and of the cluster, the most severe first

  [[nodiscard]] const Finding* first(std::initializer_list<std::string_view> areas) const {
    for (const Finding* finding : findings)
      if (finding->caused_by.empty() &&
          std::ranges::any_of(areas, [&](std::string_view area) { return finding->id.starts_with(area); }))
        return finding;
    return nullptr;
  }
};

HostView view_of(const spec::Cluster& cluster, const std::string& host, const Facts& facts,
                 const std::optional<ClusterFacts>& view, const std::vector<Finding>& findings) {
  const facts::Node* node = view ? node_of(*view, facts) : nullptr;
  HostView on{cluster, host, facts, view ? &*view : nullptr, node, false, {}, {}};
  on.claims = node && (cluster.gpu.allocator == spec::Allocator::dra || allocates_by_claims(*view, *node));
  if (on.claims) on.devices = gpu_devices(*view, node->name);
  for (const Finding& finding : findings)
    if (report::is_broken(finding) && (finding.host == host || finding.host.empty()))
      on.findings.push_back(&finding);
  std::ranges::stable_sort(on.findings, [](const Finding* a, const Finding* b) {
    return (a->severity == report::Severity::blocker) > (b->severity == report::Severity::blocker);
  });
  return on;
}

/// Findings about this GPU.
std::vector<const Finding*> about(const HostView& on, const facts::Gpu* gpu, const std::string& slot) {
  std::vector<const Finding*> found;
  for (const Finding* finding : on.findings)
    if (finding->host == on.host && checks::names_gpu(*finding, slot, gpu)) found.push_back(finding);
  return found;
}

std::string shares(spec::Sharing way, long long replicas) {
  if (way == spec::Sharing::exclusive || replicas < 2) return "exclusive";
  return fmt::format("{} x{}", way == spec::Sharing::mps ? "mps" : "time-slicing", replicas);
}

/// The node's actual setting, otherwise the cluster file's.
std::string sharing_of(const HostView& on, const facts::Gpu* gpu) {
  std::string text;
  if (gpu && gpu->mig == "Enabled") text = fmt::format("mig {}", gpu->mig_devices);
  const std::string way = on.node ? label(*on.node, "nvidia.com/gpu.sharing-strategy") : "";
  const auto replicas = on.node ? base::to_int(label(*on.node, "nvidia.com/gpu.replicas")).value_or(1) : 1;
  std::string shared;
  if (on.node) {
    shared = shares(way == "mps" ? spec::Sharing::mps : spec::Sharing::time_slicing, replicas);
  } else {
    const auto host = std::ranges::find(on.cluster.hosts, on.host, &spec::Host::name);
    const spec::Host none;
    const auto layout = spec::layout_of(on.cluster, host == on.cluster.hosts.end() ? none : *host,
                                        gpu ? std::vector{gpu->name} : std::vector<std::string>());
    shared = shares(layout.sharing.sharing, layout.sharing.replicas);
  }
  if (text.empty()) return shared;
  return shared == "exclusive" ? text : text + ", " + shared;
}

/// A device that is this GPU, or a part of it.
bool is_of(const facts::GpuDevice& device, const facts::Gpu* gpu) {
  return gpu && (device.device.uuid == gpu->uuid || device.device.parent == gpu->uuid);
}

/// Pods whose claims have it; for a claim without pods, the claim.
std::vector<std::string> claimed_by(const HostView& on, const facts::Gpu* gpu) {
  std::vector<std::string> holders;
  for (const facts::GpuDevice& device : on.devices) {
    if (!is_of(device, gpu) || device.claim.empty()) continue;
    if (device.pods.empty()) holders.push_back("claim " + device.claim);
    std::ranges::copy(device.pods, std::back_inserter(holders));
  }
  return holders;
}

/// Whether the kubelet has allocated it, or a part of it, to a pod; nothing: that is not known of the pod.
std::optional<bool> allocated_to(const HostView& on, const facts::Pod& pod, const facts::Gpu* gpu) {
  if (!on.facts.nvidia.allocated || !gpu) return std::nullopt;
  bool known = false;
  for (const auto& [uuid, pods] : *on.facts.nvidia.allocated) {
    if (!pods.contains(pod.full())) continue;
    known = true;
    if (uuid == gpu->uuid || std::ranges::count(gpu->instances, uuid, &facts::MigInstance::uuid) > 0)
      return true;
  }
  return known ? std::optional(false) : std::nullopt;
}

/// Which pods use it: certain by the kubelet's allocations, or if the node has one GPU, or one pod with all
/// of them.
std::vector<std::string> holders_of(const HostView& on, const facts::Gpu* gpu) {
  std::vector<std::string> holders = claimed_by(on, gpu);
  if (on.view && on.node && !on.claims) {
    const auto pods = gpu_pods(*on.view, on.node->name);
    const bool certain =
        on.facts.nvidia.gpus.size() == 1 ||
        (pods.size() == 1 && std::accumulate(pods.front()->gpus.begin(), pods.front()->gpus.end(), 0LL,
                                             [](long long sum, const auto& of) { return sum + of.second; }) >=
                                 static_cast<long long>(on.facts.nvidia.gpus.size()));
    for (const facts::Pod* pod : pods) {
      const auto allocated = allocated_to(on, *pod, gpu);
      if (allocated.value_or(true)) holders.push_back((certain || allocated ? "" : "perhaps ") + pod->full());
    }
  }
  if (gpu)
    for (const facts::GpuProcess& process : gpu->processes)
      if (!process.name.ends_with("nvidia-cuda-mps-server"))  // used for sharing the GPU
        holders.push_back(fmt::format("{} (pid {})", process.name, process.pid));
  return holders;
}

/// Why a pod cannot get it; empty if one can.
std::string refusal(const HostView& on, const facts::Gpu* gpu, const std::string& slot) {
  if (!gpu) {
    const Finding* reason = on.first({"gpu.driver.", "gpu.pci.", "gpu.health.fell"});
    return "the driver does not list it" +
           (reason ? fmt::format(": {} ({})", reason->message, reason->id) : "");
  }
  if (const auto* entry = quarantine_of(on.facts.nvidia, *gpu)) return "in quarantine " + since_text(*entry);
  if (!on.facts.kubernetes.kubelet_conf && !on.node) return "the host is not a node";
  if (!on.view) return "no control plane was queried";
  if (!on.node) return "its node is not in the cluster";
  if (on.claims && !on.view->slices) return slices_unknown;
  if (on.node->unschedulable) return "its node is cordoned";
  const auto ready = on.node->conditions.find("Ready");
  if (ready != on.node->conditions.end() && ready->second.status != "True") return "its node is not ready";
  const long long offered =
      on.claims ? static_cast<long long>(on.devices.size()) : number_of(on.node->allocatable);
  if (offered == 0) {
    const Finding* reason = on.first({"nct.", "gk.", "kubelet.device", "gpu.driver.", "gpu.dra."});
    if (reason) return fmt::format("{} ({})", reason->message, reason->id);
    return on.claims ? "the DRA driver publishes no GPU of the node" : "the device plugin advertises none";
  }
  if (on.claims) {
    const auto device = std::ranges::find_if(on.devices, [&](const auto& one) { return is_of(one, gpu); });
    if (device == on.devices.end()) return "not in any ResourceSlice of the DRA driver";
    return device->taint.empty() ? "" : "tainted by the DeviceTaintRule " + device->taint;
  }
  const auto wrong = about(on, gpu, slot);
  if (offered < number_of(on.node->capacity) && !wrong.empty())
    return fmt::format("{} ({})", wrong.front()->message, wrong.front()->id);
  return "";
}

GpuRow row_of(const HostView& on, const facts::Gpu* gpu, const std::string& slot) {
  GpuRow row;
  row.host = on.host;
  row.slot = slot;
  row.node = on.node ? on.node->name : "none";
  row.model = gpu ? gpu->name : "unknown";
  row.uuid = gpu ? gpu->uuid : "unknown";
  row.driver = on.facts.nvidia.driver ? on.facts.nvidia.driver->version : "none";
  row.sharing = sharing_of(on, gpu);
  const auto wrong = about(on, gpu, slot);
  for (const Finding* finding : wrong) row.findings.push_back(finding->id);
  row.health = !gpu                                   ? "not listed"
               : quarantine_of(on.facts.nvidia, *gpu) ? "quarantined"
               : wrong.empty()                        ? "ok"
                                                      : row.findings.front();
  row.holders = holders_of(on, gpu);
  row.why = refusal(on, gpu, slot);
  if (row.why.empty())
    row.allocatable = true;
  else if (row.why != "no control plane was queried" && row.why != slices_unknown)
    row.allocatable = false;
  return row;
}

}  // namespace

std::vector<const facts::Pod*> gpu_pods(const ClusterFacts& view, const std::string& node) {
  std::vector<const facts::Pod*> found;
  if (!view.pods) return found;
  std::set<std::string> claiming;
  for (const facts::GpuDevice& device : gpu_devices(view, node))
    claiming.insert(device.pods.begin(), device.pods.end());
  for (const facts::Pod& pod : *view.pods)
    if (pod.node == node && (!pod.gpus.empty() || claiming.contains(pod.full())) &&
        pod.phase != "Succeeded" && pod.phase != "Failed")
      found.push_back(&pod);
  return found;
}

GpuTable gpu_table(const spec::Cluster& cluster, const facts::Census& census,
                   const std::optional<ClusterFacts>& view, const std::vector<Finding>& findings) {
  GpuTable table;
  for (const auto& [host, facts] : census) {
    if (!facts) continue;
    const HostView on = view_of(cluster, host, *facts, view, findings);
    GpuCounts counts{host, facts->nvidia.pci_gpus.size(), facts->nvidia.gpus.size(), std::nullopt};
    if (on.node && !(on.claims && !view->slices)) {
      const auto replicas = base::to_int(label(*on.node, "nvidia.com/gpu.replicas")).value_or(1);
      counts.allocatable = on.claims ? std::ranges::count(on.devices, "", &facts::GpuDevice::taint)
                                     : number_of(on.node->allocatable) / std::max(1LL, replicas);
    }
    if (counts.pci + counts.driver > 0) table.counts.push_back(counts);
    for (const facts::Gpu& gpu : facts->nvidia.gpus) table.rows.push_back(row_of(on, &gpu, gpu.bus_id));
    for (const facts::PciGpu& pci : facts->nvidia.pci_gpus)
      if (std::ranges::find(facts->nvidia.gpus, pci.slot, &facts::Gpu::bus_id) == facts->nvidia.gpus.end())
        table.rows.push_back(row_of(on, nullptr, pci.slot));
  }
  return table;
}

Tree to_tree(const GpuRow& row) {
  return Tree::map_of({{"host", row.host},
                       {"node", row.node},
                       {"slot", row.slot},
                       {"model", row.model},
                       {"uuid", row.uuid},
                       {"driver", row.driver},
                       {"sharing", row.sharing},
                       {"health", row.health},
                       {"findings", Tree::list_of(row.findings)},
                       {"heldBy", Tree::list_of(row.holders)},
                       {"allocatable", row.allocatable ? Tree(*row.allocatable) : Tree()},
                       {"why", row.why}});
}

Tree to_tree(const GpuCounts& counts) {
  return Tree::map_of(
      {{"host", counts.host},
       {"pci", static_cast<std::int64_t>(counts.pci)},
       {"driver", static_cast<std::int64_t>(counts.driver)},
       {"allocatable", counts.allocatable ? Tree(std::int64_t{*counts.allocatable}) : Tree()}});
}

Tree to_tree(const GpuTable& table) {
  Tree gpus = Tree::list(), hosts = Tree::list();
  for (const GpuRow& row : table.rows) gpus.push(to_tree(row));
  for (const GpuCounts& counts : table.counts) hosts.push(to_tree(counts));
  return Tree::map_of({{"gpus", gpus}, {"hosts", hosts}});
}

}  // namespace cluster
