#include "gpuadm/checks/chain.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/chain/words.hpp"
#include "checks/cluster/whole.hpp"
#include "checks/queries.hpp"

#include <algorithm>
#include <array>

/// The chain's links that are tested by facts of hosts and cluster.
namespace checks {

namespace {

using report::Finding;
using report::Verdict;

struct Row {
  std::string_view name, title;
  std::vector<std::string_view> findings;  ///< ids of blockers that break it, or prefixes of ids
};

/// In the order of Link.
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"network", "pods reach pods on other nodes and the API server", {}},
      {"dns", "pods resolve names of Services", {}},
      {"driver", "the driver is loaded and complete", {"gpu.driver.", "gpu.pci."}},
      {"nvml",
       "the driver answers for every GPU",
       {"gpu.driver.smi-", "gpu.driver.rminit-", "gpu.driver.gsp-rpc-", "gpu.health.", "gpu.fabric."}},
      {"cdi", "the CDI specification matches the driver", {"nct.cdi-"}},
      {"runtime",
       "the container runtime answers, and has the nvidia runtime",
       {"rt.", "nct.config-valid", "nct.cli-info", "nct.runtime-registered"}},
      {"plugin", "the device plugin runs on the node", {}},
      {"allocatable", "the node offers the GPUs that the driver counts", {}},
      {"scheduling", "as many pods as there are free GPUs get one, and one more waits", {}},
      {"pod", "a pod with one GPU sees one GPU", {}},
      {"compute", "pods compute on the GPUs", {}},
      {"reload", "a pod keeps its GPU when systemd reloads", {}}};
  return table;
}

const Row& row_of(Link link) {
  return rows()[static_cast<std::size_t>(link)];
}

/// The link that a finding breaks: the one with the longest matching id.
std::optional<Link> link_of(const Finding& finding) {
  std::optional<Link> found;
  std::size_t longest = 0;
  for (const Link link : all_links())
    for (const std::string_view id : row_of(link).findings)
      if (finding.id.starts_with(id) && id.size() > longest) found = link, longest = id.size();
  return found;
}

/// The link as broken by the doctor's first blocker that belongs to it and whose id begins so.
std::optional<Finding> blocker(Link link, const GpuNode& node, const ChainInputs& inputs,
                               std::string_view id) {
  for (const Finding& finding : inputs.findings)
    if (finding.host == node.host && finding.verdict == Verdict::fail &&
        finding.severity == Severity::blocker && finding.id.starts_with(id) && link_of(finding) == link)
      return broken(link, node, finding.message, finding.evidence, finding.remedy, finding.id);
  return std::nullopt;
}

const facts::Facts& host_facts(const GpuNode& node, const ChainInputs& inputs) {
  return *inputs.census.at(node.host);
}

// --- Each says what it saw, or what is wrong -------------------------------------------------------------

Finding check_driver(const GpuNode& node, const ChainInputs& inputs) {
  const auto& driver = host_facts(node, inputs).nvidia.driver;
  if (!driver)
    return broken(Link::driver, node, "no NVIDIA driver is loaded", "", "gpuadm doctor --only gpu.driver.");
  return holds(Link::driver, node,
               driver->version +
                   (driver->open_modules
                        ? *driver->open_modules ? ", open kernel modules" : ", proprietary kernel modules"
                        : ""));
}

Finding check_nvml(const GpuNode& node, const ChainInputs& inputs) {
  const facts::Facts& host = host_facts(node, inputs);
  const auto bound = std::ranges::count_if(host.nvidia.pci_gpus, [](const facts::PciGpu& gpu) {
    return gpu.driver.empty() || gpu.driver == "nvidia";
  });
  if (host.nvidia.gpus.empty() || host.nvidia.smi_status.value_or(0) != 0)
    return broken(Link::nvml, node, "the driver answers for no GPU", host.nvidia.smi_message,
                  "nvidia-smi -L");
  if (bound > static_cast<long>(host.nvidia.gpus.size()))
    return broken(Link::nvml, node, "the driver does not answer for every GPU",
                  fmt::format("{} on the PCI bus, {} by nvidia-smi", bound, host.nvidia.gpus.size()),
                  "gpuadm doctor --stage node --only gpu.");
  std::map<std::string, int> models;
  for (const facts::Gpu& gpu : host.nvidia.gpus) ++models[gpu.name];
  std::vector<std::string> texts;
  for (const auto& [name, count] : models) texts.push_back(fmt::format("{} × {}", count, name));
  return holds(Link::nvml, node, list(texts));
}

Finding check_cdi(const GpuNode& node, const ChainInputs& inputs) {
  for (const facts::CdiSpec& spec : host_facts(node, inputs).nvidia.toolkit.cdi)
    if (spec.kind == "nvidia.com/gpu")
      return holds(Link::cdi, node, fmt::format("{} names {} devices", spec.file, spec.devices.size()));
  return untried(Link::cdi, node,
                 node.runtime_class.empty()
                     ? "there is no CDI specification"
                     : "there is no CDI specification; pods have the RuntimeClass " + node.runtime_class);
}

Finding check_runtime(const GpuNode& node, const ChainInputs& inputs) {
  const facts::Facts& host = host_facts(node, inputs);
  const auto* there = node_named(inputs.facts, node.node);
  const bool docker = there && there->runtime.starts_with("docker:");
  const std::string runtime = there ? base::replace_all(there->runtime, "://", " ") : "";
  const std::string& usual = docker && host.runtime.docker ? host.runtime.docker->default_runtime
                             : host.runtime.containerd     ? host.runtime.containerd->default_runtime
                                                           : std::string();
  if (usual == "nvidia") return holds(Link::runtime, node, runtime + ", nvidia by default");
  if (node.runtime_class.empty())
    return holds(Link::runtime, node,
                 fmt::format("{}; pods do not use the nvidia runtime: the {} sets up their devices", runtime,
                             node.claims.empty() ? "device plugin" : "DRA driver"));
  const std::string& handler = inputs.facts.runtime_classes->at(node.runtime_class);
  if (host.runtime.containerd && !docker && !host.runtime.containerd->runtimes.contains(handler))
    return broken(Link::runtime, node, "RuntimeClass nvidia has no runtime in the container runtime",
                  "no runtime has the name " + handler,
                  "gpuadm init --phases runtime, or nvidia-ctk runtime configure");
  return holds(Link::runtime, node, fmt::format("{} with the runtime {}", runtime, handler));
}

/// The control daemon of MPS, by the pod names of gpuadm and of NVIDIA's chart.
bool is_mps_pod(const facts::Pod& pod) {
  return pod.owner == "DaemonSet" && contains(pod.name, "mps-control-daemon");
}
bool is_plugin_pod(const facts::Pod& pod) {
  return pod.owner == "DaemonSet" && contains(pod.name, "nvidia") && contains(pod.name, "device-plugin") &&
         !is_mps_pod(pod);
}

Finding check_dra_driver(const GpuNode& node, const ChainInputs& inputs) {
  if (!inputs.facts.pods)
    return broken(Link::plugin, node, "the pods could not be read from the API server", "",
                  "kubectl get --raw /readyz?verbose");
  for (const facts::Pod& pod : *inputs.facts.pods) {
    if (pod.node != node.node || !is_dra_driver_pod(pod)) continue;
    if (!is_well(pod))
      return broken(Link::plugin, node, "the DRA driver's pod on the node does not run",
                    pod.full() + ": " + trouble_of(pod),
                    fmt::format("kubectl -n {} logs {} --all-containers", pod.ns, pod.name));
    Finding finding = holds(Link::plugin, node, pod.full() + " runs");
    finding.message = "the DRA driver runs on the node";
    return finding;
  }
  return broken(Link::plugin, node, "NVIDIA's DRA driver has no pod on the node", "",
                "gpuadm init --phases gpu/labels,gpu/dra");
}

Finding check_plugin(const GpuNode& node, const ChainInputs& inputs) {
  if (node.node.empty())
    return broken(Link::plugin, node, "the host is not a node of the cluster", "",
                  "kubectl get nodes, and compare with the host's name");
  if (!node.claims.empty()) return check_dra_driver(node, inputs);
  if (inputs.cluster.gpu.allocator != spec::Allocator::device_plugin)
    return untried(Link::plugin, node, "gpu.allocator is not a device plugin");
  if (!inputs.facts.pods)
    return broken(Link::plugin, node, "the pods could not be read from the API server", "",
                  "kubectl get --raw /readyz?verbose");
  const auto describe = [](const facts::Pod& pod) {
    return fmt::format("kubectl -n {} describe pod {}", pod.ns, pod.name);
  };
  // Without MPS's daemon, the plugin advertises nothing.
  for (const facts::Pod& pod : *inputs.facts.pods)
    if (pod.node == node.node && is_mps_pod(pod) && !is_well(pod))
      return broken(Link::plugin, node, "the pod of MPS's control daemon on the node does not run",
                    pod.full() + ": " + trouble_of(pod), describe(pod));
  for (const facts::Pod& pod : *inputs.facts.pods)
    if (pod.node == node.node && is_plugin_pod(pod))
      return is_well(pod) ? holds(Link::plugin, node, pod.full() + " runs")
                          : broken(Link::plugin, node, "the device plugin's pod on the node does not run",
                                   pod.full() + ": " + trouble_of(pod), describe(pod));
  return broken(Link::plugin, node, "NVIDIA's device plugin has no pod on the node", "",
                "gpuadm init --phases gpu/device-plugin");
}

Finding check_allocatable(const GpuNode& node, const ChainInputs& inputs) {
  if (!node.claims.empty() && (!inputs.facts.slices || !inputs.facts.resource_claims))
    return broken(Link::allocatable, node,
                  "the resource slices and claims could not be read from the API server", "",
                  "kubectl get resourceslices,resourceclaims -A");
  const std::string offered = node.claims.empty()
                                  ? fmt::format("{} {}", node.allocatable, node.resource)
                                  : fmt::format("{} device{} of gpu.nvidia.com in ResourceSlices",
                                                node.allocatable, node.allocatable == 1 ? "" : "s");
  if (node.mig && node.allocatable > 0)
    return holds(Link::allocatable, node, offered + ", partitions of GPUs");
  const long long expected = static_cast<long long>(node.counted) * node.shares;
  const std::string gpus = fmt::format("{} GPU{}", node.counted, node.counted == 1 ? "" : "s");
  const std::string has = node.shares > 1 ? fmt::format("{} with {} shares each", gpus, node.shares) : gpus;
  if (node.allocatable != expected)
    return broken(
        Link::allocatable, node,
        node.allocatable < expected ? "the node offers fewer GPUs than it has"
                                    : "the node offers more GPUs than it has",
        fmt::format("{}, for {}", offered, has),
        node.claims.empty()
            ? "kubectl logs of the device plugin's pod on the node shows unhealthy GPUs"
            : "kubectl -n kube-system logs -l app.kubernetes.io/name=nvidia-dra-driver --all-containers");
  return holds(Link::allocatable, node, fmt::format("{}, for {}", offered, has));
}

}  // namespace

std::span<const Link> all_links() {
  static constexpr std::array links = {Link::network,    Link::dns,     Link::driver,  Link::nvml,
                                       Link::cdi,        Link::runtime, Link::plugin,  Link::allocatable,
                                       Link::scheduling, Link::pod,     Link::compute, Link::reload};
  return links;
}

std::string_view name_of(Link link) {
  return row_of(link).name;
}

std::string_view title_of(Link link) {
  return row_of(link).title;
}

std::optional<Link> link_named(std::string_view name) {
  const auto place = std::ranges::find(rows(), name, &Row::name);
  if (place == rows().end()) return std::nullopt;
  return all_links()[static_cast<std::size_t>(place - rows().begin())];
}

std::optional<report::Finding> runtime_blocker(const GpuNode& on, const ChainInputs& inputs) {
  return blocker(Link::runtime, on, inputs, "rt.");
}

report::Finding examine_link(Link link, const GpuNode& on, const ChainInputs& inputs) {
  if (auto found = blocker(link, on, inputs, "")) return *found;
  constexpr std::array links = {check_driver,  check_nvml,   check_cdi,
                                check_runtime, check_plugin, check_allocatable};
  return links.at(static_cast<std::size_t>(link) - static_cast<std::size_t>(Link::driver))(on, inputs);
}

}  // namespace checks
