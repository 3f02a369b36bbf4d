#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include "checks/kubelet/certificates.hpp"
#include "checks/kubelet/disk_pressure.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// A key of the kubelet's configuration as text; empty if it is not set.
std::string setting(const Subject& s, std::initializer_list<std::string_view> path) {
  const auto& config = s.facts.kubernetes.kubelet_config;
  const base::Tree* value = config ? config->at(path) : nullptr;
  return value ? value->text() : std::string();
}

/// A node whose kubelet has a configuration; skipped with the reason otherwise.
bool has_config(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return false;
  if (!s.facts.kubernetes.kubelet_config) out.unknown("the kubelet's configuration could not be read");
  return s.facts.kubernetes.kubelet_config.has_value();
}

/// A node whose thresholds are those of its configuration.
bool has_thresholds(const Subject& s, Verdicts& out) {
  if (!has_config(s, out)) return false;
  if (has_threshold_flags(s)) out.unknown("flags of the kubelet override its configuration");
  return !has_threshold_flags(s);
}

void eviction(const Subject& s, Verdicts& out) {
  if (!has_thresholds(s, out)) return;
  const base::Tree settings = kubelet_settings(s);
  for (const EvictionSignal& signal : eviction_signals) {
    const std::string threshold = eviction_threshold(settings, signal);
    const facts::Disk* disk = disk_of(s.facts, signal.images ? images_root(s) : "/var/lib/kubelet");
    if (!disk) return out.unknown("the file systems could not be read");
    const auto whole = static_cast<double>(signal.inodes ? disk->inodes : disk->total_kib * 1024);
    const auto free = static_cast<double>(signal.inodes ? disk->inodes_free : disk->free_kib * 1024);
    const auto least = share_of(threshold, whole);
    if (least && whole > 0 && free / whole < *least)
      out.fail(Severity::blocker, "the kubelet evicts pods and deletes images: the disk is full",
               fmt::format("{} is {:.1f}% on {}, the threshold is {}", signal.name, 100 * free / whole,
                           disk->path, threshold),
               signal.images ? "crictl rmi --prune, or a larger disk"
                             : "remove large files: du -xh --max-depth=2 /var | sort -h");
  }
}

void eviction_signals_monitored(const Subject& s, Verdicts& out) {
  if (!has_thresholds(s, out)) return;
  const base::Tree settings = kubelet_settings(s);
  for (const EvictionSignal& signal : eviction_signals) {
    const std::string threshold = eviction_threshold(settings, signal);
    if (share_of(threshold, 1).value_or(1) > 0) continue;
    out.fail(Severity::warning, fmt::format("the kubelet does not monitor {}", signal.name),
             fmt::format("evictionHard: {} is {}", signal.name, threshold),
             fmt::format(
                 "set evictionHard {}: {} in /var/lib/kubelet/config.yaml, then: systemctl restart kubelet",
                 signal.name, signal.fallback));
  }
}

const facts::Certificate* certificate(const Subject& s, std::string_view path) {
  const auto& all = s.facts.kubernetes.certificates;
  if (!all) return nullptr;
  const auto place = std::ranges::find(*all, path, &facts::Certificate::path);
  return place == all->end() ? nullptr : &*place;
}

/// The kubelet requests a new one when about a fifth of its lifetime remains.
void certificate_expiry(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  const facts::Certificate* client = certificate(s, "/var/lib/kubelet/pki/kubelet-client-current.pem");
  if (!client || !s.facts.clock.probe_begin)
    return out.unknown("the kubelet's certificate could not be read");
  if (const std::string why = not_yet_valid(*client, *s.facts.clock.probe_begin); !why.empty())
    return out.fail(client->begins ? Severity::blocker : Severity::warning,
                    client->begins ? "the kubelet's certificate is not yet valid"
                                   : "the kubelet's certificate is perhaps not yet valid",
                    why, set_clock);
  const double days = (client->ends - *s.facts.clock.probe_begin) / 86400;
  const std::string evidence = fmt::format("it expires in {:.0f} days", days);
  if (days < 0)
    return out.fail(Severity::blocker, "the kubelet's certificate has expired",
                    fmt::format("it expired {:.0f} days ago", -days),
                    "kubeadm reset -f and join again; on a control plane: kubeadm kubeconfig user "
                    "--org system:nodes --client-name system:node:NAME > /etc/kubernetes/kubelet.conf");
  if (days < 30)
    return out.fail(
        days < 7 ? Severity::blocker : Severity::warning, "the kubelet's certificate is not renewed",
        evidence + (setting(s, {"rotateCertificates"}) == "true" ? "" : "; rotateCertificates is not true"),
        "set rotateCertificates: true, then: systemctl restart kubelet; kubectl get csr shows pending "
        "requests");
  out.pass(evidence);
}

void server_cert(const Subject& s, Verdicts& out) {
  if (!has_config(s, out)) return;
  if (setting(s, {"serverTLSBootstrap"}) != "true")
    return out.pass("the kubelet signs its own: serverTLSBootstrap is off");
  if (!s.facts.software.paths.contains("/var/lib/kubelet/pki/kubelet-server-current.pem"))
    out.fail(Severity::warning, "the kubelet has no serving certificate: logs and metrics fail",
             "serverTLSBootstrap is on, and there is no kubelet-server-current.pem",
             "kubectl get csr | grep kubelet-serving, then: kubectl certificate approve NAME");
}

/// The network, broadcast and bridge addresses are not available to pods.
void max_pods(const Subject& s, Verdicts& out) {
  if (!has_config(s, out)) return;
  const auto written = base::to_int(setting(s, {"maxPods"}));
  const long long pods = written.value_or(110);
  for (const facts::Address& address : s.facts.network.all_addresses) {
    const auto cidr = base::Cidr::parse(address.cidr);
    if (address.link != "cni0" || !cidr || cidr->v6 || cidr->prefix < 8 || cidr->prefix > 30) continue;
    const long long addresses = (1LL << (32 - cidr->prefix)) - 3;
    if (pods > addresses)
      return out.fail(
          Severity::warning, "more pods are allowed than the node has addresses for",
          fmt::format("maxPods: {}; {} has {} addresses", pods, address.cidr, addresses),
          fmt::format("set maxPods: {} in /var/lib/kubelet/config.yaml, then: systemctl restart kubelet",
                      addresses));
    return out.pass(fmt::format("{} pods, {} addresses", pods, addresses));
  }
  out.skip("the node has no pod bridge");
}

/// "0-3,8" has five.
std::size_t count_of_range(std::string_view range) {
  std::size_t all = 0;
  for (const std::string_view part : base::split(range, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = base::to_int(base::trim(part.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : base::to_int(base::trim(part.substr(dash + 1)));
    if (first && last && *last >= *first && *last < 4096) all += static_cast<std::size_t>(*last - *first) + 1;
  }
  return all;
}

/// pkg/kubelet/cm/topologymanager: maxAllowableNUMANodes.
void numa_nodes(const Subject& s, const std::string& policy, Verdicts& out) {
  constexpr std::size_t most = 8;
  const std::size_t nodes = count_of_range(s.facts.machine.numa_nodes);
  const auto allowed = base::to_int(setting(s, {"topologyManagerPolicyOptions", "max-allowable-numa-nodes"}));
  if (policy.empty() || policy == "none" || nodes <= most) return;
  if (allowed && static_cast<std::size_t>(std::max(0LL, *allowed)) >= nodes) return;
  out.fail(
      Severity::blocker,
      fmt::format("the kubelet does not start: its topology manager refuses more than {} NUMA nodes",
                  allowed.value_or(most)),
      fmt::format("{} NUMA nodes ({}), topologyManagerPolicy: {}", nodes, s.facts.machine.numa_nodes, policy),
      fmt::format("set topologyManagerPolicyOptions: {{ max-allowable-numa-nodes: \"{}\" }} (Kubernetes 1.31 "
                  "and newer), or topologyManagerPolicy: none, in /var/lib/kubelet/config.yaml; then: "
                  "systemctl restart kubelet",
                  nodes));
}

void topology(const Subject& s, Verdicts& out) {
  if (!has_config(s, out)) return;
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  const std::string cpu = or_none(setting(s, {"cpuManagerPolicy"}));
  std::string memory = setting(s, {"memoryManagerPolicy"});
  if (memory.empty()) memory = "None";
  const std::string numa = setting(s, {"topologyManagerPolicy"});
  const auto compare = [&](const char* what, const std::string& wanted,
                           const std::optional<std::string>& state) {
    if (!state || *state == wanted) return;
    const std::string file = fmt::format("/var/lib/kubelet/{}_manager_state", what);
    out.fail(
        Severity::blocker,
        fmt::format("the kubelet does not start: its {} manager's state belongs to another policy", what),
        fmt::format("{} has {}, the configuration {}", file, *state, wanted),
        fmt::format("kubectl drain the node; systemctl stop kubelet; rm {}; systemctl start kubelet", file));
  };
  compare("cpu", cpu, s.facts.kubernetes.cpu_state);
  compare("memory", memory, s.facts.kubernetes.memory_state);
  const bool reserved = !setting(s, {"reservedSystemCPUs"}).empty() ||
                        !setting(s, {"systemReserved", "cpu"}).empty() ||
                        !setting(s, {"kubeReserved", "cpu"}).empty() ||
                        s.facts.kubernetes.kubelet_flags.find("reserved") != std::string::npos;
  if (cpu == "static" && !reserved)
    out.fail(Severity::blocker, "the kubelet does not start: the static CPU policy needs reserved CPUs",
             "cpuManagerPolicy: static without reservedSystemCPUs",
             "set reservedSystemCPUs, or cpu under kubeReserved, in /var/lib/kubelet/config.yaml");
  if ((numa == "restricted" || numa == "single-numa-node") && cpu == "none")
    out.fail(Severity::note, "pods are aligned to a NUMA node for their devices but not for their CPUs",
             fmt::format("topologyManagerPolicy: {}, cpuManagerPolicy: none", numa),
             "set cpuManagerPolicy: static");
  numa_nodes(s, numa, out);
  if (out.silent()) out.pass(fmt::format("CPU manager {}, memory manager {}", cpu, memory));
}

void device_plugin_sock(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  if (!is_gpu_host(s, out)) return;
  if (s.cluster.gpu.allocator != spec::Allocator::device_plugin)
    return out.not_applicable("gpu.allocator is not a device plugin");
  const auto& names = s.facts.kubernetes.device_plugins;
  if (!names) return out.unknown("/var/lib/kubelet/device-plugins could not be read");
  if (!has(*names, "kubelet.sock"))
    return out.fail(Severity::blocker, "the kubelet does not listen for device plugins",
                    "no /var/lib/kubelet/device-plugins/kubelet.sock", "systemctl restart kubelet");
  if (std::ranges::none_of(
          *names, [](const std::string& n) { return n.starts_with("nvidia") && n.ends_with(".sock"); }))
    out.fail(Severity::blocker, "NVIDIA's device plugin does not run on this node: it offers no GPU",
             "no nvidia*.sock in /var/lib/kubelet/device-plugins",
             "kubectl -n kube-system get pods -o wide | grep nvidia-device-plugin, and read its log");
}

void pod_resources(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  if (!is_gpu_host(s, out)) return;
  if (!s.facts.software.paths.contains("/var/lib/kubelet/pod-resources/kubelet.sock"))
    out.fail(Severity::note, "monitoring cannot assign GPUs to pods",
             "no /var/lib/kubelet/pod-resources/kubelet.sock",
             "systemctl restart kubelet; before Kubernetes 1.15, enable KubeletPodResources");
}

void shared_mount(const Subject& s, Verdicts& out) {
  if (!is_node(s, out)) return;
  if (!s.facts.kubernetes.shared_mount) return out.unknown("/proc/self/mountinfo could not be read");
  if (!*s.facts.kubernetes.shared_mount)
    out.fail(Severity::warning, "volumes that a pod mounts do not reach other pods",
             "/var/lib/kubelet is on a mount that is not shared", "mount --make-rshared /");
}

void reserved(const Subject& s, Verdicts& out) {
  if (!has_config(s, out)) return;
  if (!is_gpu_host(s, out)) return;
  const auto& config = *s.facts.kubernetes.kubelet_config;
  const auto any = [&](const char* key) { return config.find(key) && !config.find(key)->entries().empty(); };
  if (!any("systemReserved") && !any("kubeReserved") && setting(s, {"reservedSystemCPUs"}).empty() &&
      s.facts.kubernetes.kubelet_flags.find("reserved") == std::string::npos)
    out.fail(Severity::note, "no memory or CPU is reserved for the kubelet and the driver's daemons",
             "neither systemReserved nor kubeReserved is set",
             "set systemReserved: { cpu: 500m, memory: 2Gi } in /var/lib/kubelet/config.yaml, then: "
             "systemctl restart kubelet");
}

constexpr std::array kubelet_state_rows = std::to_array<Check>({
    {"kubelet.eviction", "the kubelet has free space before it evicts pods",
     "the kubelet evicts pods from a full disk",
     "paths /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet disks", node,
     eviction},
    {"kubelet.eviction-signals", "the kubelet monitors the free space of its disks",
     "a signal that is missing from evictionHard is off, and the disk fills until programs fail",
     "paths /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet", node,
     eviction_signals_monitored},
    {"kubelet.certificate-expiry", "the kubelet's certificate is renewed in time",
     "a node with an expired certificate leaves the cluster", "paths certificates clock", node,
     certificate_expiry},
    {"kubelet.server-cert", "the kubelet has its serving certificate", "kubectl logs and metrics use it",
     "paths /var/lib/kubelet/config.yaml", node, server_cert},
    {"kubelet.max-pods", "the node has an address for every pod that it can run",
     "pods hang in ContainerCreating otherwise", "paths /var/lib/kubelet/config.yaml addresses", node,
     max_pods},
    {"kubelet.cpu-topology-manager", "the kubelet's CPU and memory managers can start",
     "the kubelet does not start with a state of another policy",
     "paths /var/lib/kubelet/config.yaml /var/lib/kubelet/cpu_manager_state "
     "/var/lib/kubelet/memory_manager_state /sys/devices/system/node/online",
     node, topology},
    {"kubelet.device-plugin-sock", "NVIDIA's device plugin is connected to the kubelet",
     "the node offers no GPU otherwise", "paths /var/lib/kubelet/device-plugins/ pci", node,
     device_plugin_sock},
    {"kubelet.pod-resources", "the kubelet reports which pod has which GPU", "dcgm-exporter needs this",
     "paths", node, pod_resources},
    {"kubelet.root-dir-mounted", "mounts of one pod are visible to other pods",
     "CSI drivers mount for other pods", "paths /proc/self/mountinfo", node, shared_mount},
    {"kubelet.reserved", "resources are reserved for the system", "otherwise one pod can stop the kubelet",
     "paths /var/lib/kubelet/config.yaml", node, reserved},
});

}  // namespace

std::span<const Check> kubelet_state_checks() {
  return kubelet_state_rows;
}

}  // namespace checks
