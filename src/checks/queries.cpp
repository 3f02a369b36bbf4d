#include "checks/queries.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <tuple>

namespace checks {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string list(const std::vector<std::string>& names) {
  return base::join(names, ", ");
}

std::string kubernetes_text(const Subject& subject) {
  return subject.kubernetes ? subject.kubernetes->text() : "the chosen version";
}

std::string minor_text(const Subject& subject) {
  return subject.kubernetes ? subject.kubernetes->minor_text() : kubernetes_text(subject);
}

bool kubernetes_from(const Subject& subject, int minor) {
  return subject.kubernetes && *subject.kubernetes >= base::Version{1, minor, -1};
}

bool kubernetes_before(const Subject& subject, int minor) {
  return subject.kubernetes && *subject.kubernetes < base::Version{1, minor, -1};
}

bool is_control_plane(const Subject& subject) {
  return subject.host.role == spec::Role::control_plane;
}

bool uses(const Subject& subject, spec::Engine engine) {
  return subject.cluster.runtime.engine == engine;
}

bool is_active(const facts::Facts& facts, const std::string& unit) {
  const auto place = facts.software.units.find(unit);
  return place != facts.software.units.end() &&
         (place->second.active == "active" || place->second.active == "activating");
}

bool is_failing(const facts::Unit& unit) {
  return unit.active == "failed" || unit.sub == "auto-restart";
}

bool is_running(const facts::Facts& facts, const std::string& unit) {
  return is_active(facts, unit) && !is_failing(facts.software.units.at(unit));
}

bool is_loaded(const facts::Facts& facts, std::string_view module) {
  return has(facts.kernel.modules, module) || has(facts.kernel.modules_builtin, module);
}

bool is_loadable(const facts::Facts& facts, std::string_view module) {
  return is_loaded(facts, module) || has(facts.kernel.modules_loadable, module);
}

std::string cgroup_driver(const Subject& subject) {
  // A running kubelet keeps its driver: its pods are in that tree.
  const auto& running = subject.facts.kubernetes.kubelet_config;
  if (running && standing_of(subject) == Standing::running) {
    const base::Tree* driver = running->find("cgroupDriver");
    return driver ? driver->text() : "cgroupfs";
  }
  if (const base::Tree* driver = subject.cluster.patches.kubelet.find("cgroupDriver")) return driver->text();
  return subject.facts.os.init == "systemd" ? "systemd" : "cgroupfs";
}

bool kubelet_accepts_swap(const Subject& subject) {
  const auto& on_host = subject.facts.kubernetes.kubelet_config;
  if (subject.stage == Stage::node && on_host) {
    const base::Tree* fails = on_host->find("failSwapOn");
    return fails && fails->as_bool() == false;
  }
  if (const base::Tree* fails = subject.cluster.patches.kubelet.find("failSwapOn"))
    return fails->as_bool() == false;
  return subject.cluster.swap != spec::Swap::off;
}

std::string host_of(std::string_view server) {
  if (const auto scheme = server.find("://"); scheme != std::string_view::npos)
    server.remove_prefix(scheme + 3);
  if (server.starts_with('[')) return std::string(server.substr(1, server.find(']') - 1));
  return std::string(server.substr(0, server.find(':')));
}

namespace {

/// Whether a kubeconfig's server belongs to this cluster: its endpoint, or an address of the host itself.
bool is_our_server(const Subject& subject, const std::string& server) {
  const std::string host = host_of(server);
  const auto& plane = subject.cluster.control_plane;
  if (!plane.endpoint.empty()) return host == host_of(plane.endpoint);
  if (!plane.advertise_address.empty() && host == plane.advertise_address) return true;
  if (!is_control_plane(subject)) return true;
  if (host == subject.facts.machine.hostname || host == "127.0.0.1" || host == "localhost") return true;
  return std::ranges::any_of(subject.facts.network.all_addresses, [&](const facts::Address& address) {
    return address.cidr.substr(0, address.cidr.find('/')) == host;
  });
}

}  // namespace

Standing standing_of(const Subject& subject) {
  const auto& kubernetes = subject.facts.kubernetes;
  const bool configured = kubernetes.kubelet_conf || kubernetes.admin_conf;
  if (configured && is_active(subject.facts, "kubelet.service")) {
    // On a control-plane node, kubelet.conf contains the host's own API server since Kubernetes 1.33 (feature
    // gate ControlPlaneKubeletLocalMode), admin.conf the cluster's endpoint.
    const std::string& server = is_control_plane(subject) && !kubernetes.admin_server.empty()
                                    ? kubernetes.admin_server
                                    : kubernetes.kubelet_server;
    const bool complete = kubernetes.kubelet_conf && (kubernetes.admin_conf || !is_control_plane(subject));
    // An unreadable server is not a contradiction.
    if (complete && (server.empty() || is_our_server(subject, server))) return Standing::running;
    return subject.facts.gpuadm_installed ? Standing::unfinished : Standing::foreign;
  }
  const bool any = configured || kubernetes.bootstrap_conf || kubernetes.ca || kubernetes.etcd_data ||
                   !kubernetes.manifests.empty();
  if (!any) return Standing::none;
  return subject.facts.gpuadm_installed ? Standing::unfinished : Standing::leftovers;
}

bool has_foreign_cluster(const facts::Facts& facts) {
  const auto& kubernetes = facts.kubernetes;
  return (kubernetes.kubelet_conf || kubernetes.admin_conf) && is_active(facts, "kubelet.service") &&
         !facts.gpuadm_installed && !facts.software.paths.contains("/etc/kubernetes/gpuadm/cluster.yaml");
}

std::string cluster_text(const facts::Facts& facts) {
  const auto& k = facts.kubernetes;
  std::string text = "cluster " + (k.cluster_name.empty() ? "of unknown name" : k.cluster_name);
  const std::string& server = k.kubelet_server.empty() ? k.admin_server : k.kubelet_server;
  if (!server.empty()) text += " at " + server;
  if (k.kubelet) text += ", Kubernetes " + *k.kubelet;
  return text + ", node " + (k.node_name.empty() ? base::lower(facts.machine.hostname) : k.node_name);
}

spec::Supply supply_of(const Subject& subject, spec::Supply resolved) {
  if (resolved != spec::Supply::open || subject.cluster.kubernetes.source == spec::Source::bundle)
    return resolved;
  return spec::Supply::repositories;
}

std::optional<long long> sysctl_of(const facts::Facts& facts, const std::string& key) {
  const auto place = facts.kernel.sysctls.find(key);
  if (place == facts.kernel.sysctls.end()) return std::nullopt;
  const auto words = base::words(place->second);
  return words.empty() ? std::nullopt : base::to_int(words[0]);
}

const facts::Disk* disk_of(const facts::Facts& facts, std::string_view path) {
  const facts::Disk* best = nullptr;
  for (const facts::Disk& disk : facts.storage.disks) {
    const bool holds = disk.path == "/" || path == disk.path || path.starts_with(disk.path + "/");
    if (holds && (!best || disk.path.size() > best->path.size())) best = &disk;
  }
  return best;
}

const facts::Mount* mount_of(const facts::Facts& facts, std::string_view path) {
  const facts::Mount* best = nullptr;
  for (const facts::Mount& mount : facts.storage.mounts) {
    const bool holds = mount.path == "/" || path == mount.path || path.starts_with(mount.path + "/");
    if (holds && (!best || mount.path.size() >= best->path.size())) best = &mount;
  }
  return best;
}

bool has_cni(const facts::Facts& facts, std::string_view name) {
  return std::ranges::any_of(facts.kubernetes.cni_configs,
                             [&](const std::string& file) { return file.find(name) != std::string::npos; });
}

bool is_bare_metal(const facts::Facts& facts) {
  return facts.os.virtualization == "none";
}

bool has_peers(const facts::Facts& facts) {
  return facts.nvidia.pci_gpus.size() > 1 || (!facts.nvidia.pci_gpus.empty() && !facts.rdma.ports.empty());
}

bool has_rdma(const Subject& subject, Verdicts& out) {
  if (!subject.facts.rdma.devices.empty() || !subject.facts.rdma.ports.empty()) return true;
  out.skip("the host has no RDMA device");
  return false;
}

const facts::Containerd* containerd_of(const Subject& s, Verdicts& out) {
  if (!uses(s, spec::Engine::containerd))
    out.not_applicable("the runtime is not containerd");
  else if (!s.facts.runtime.containerd || s.facts.runtime.containerd->version.empty())
    out.skip("containerd is not installed");
  else
    return &*s.facts.runtime.containerd;
  return nullptr;
}

std::string images_root(const Subject& s) {
  const auto& [docker, containerd] = std::tie(s.facts.runtime.docker, s.facts.runtime.containerd);
  if (uses(s, spec::Engine::docker) && docker && !docker->root.empty()) return docker->root;
  if (uses(s, spec::Engine::containerd) && containerd && !containerd->root.empty()) return containerd->root;
  return std::string(spec::row_of(s.cluster.runtime.engine).images);
}

bool is_node(const Subject& subject, Verdicts& out) {
  if (subject.facts.kubernetes.kubelet_conf) return true;
  out.skip("the host is not a node yet");
  return false;
}

bool is_ready_for_toolkit(const Subject& s, Verdicts& out) {
  if (!is_gpu_host(s, out)) return false;
  if (s.cluster.gpu.allocator == spec::Allocator::none)
    out.not_applicable("gpu.allocator is none");
  else
    return true;
  return false;
}

bool has_gpu(const facts::Facts& facts) {
  return !facts.nvidia.pci_gpus.empty() || facts.nvidia.driver.has_value() || !facts.nvidia.gpus.empty();
}

bool is_gpu_host(const Subject& subject, Verdicts& out) {
  if (has_gpu(subject.facts)) return true;
  if (const auto pci = subject.facts.unread.find("pci"); pci != subject.facts.unread.end())
    out.unknown("the PCI bus could not be read: " + pci->second);
  else
    out.not_applicable("no NVIDIA GPU on the PCI bus");
  return false;
}

Severity gpu_severity(const Subject& subject) {
  return subject.stage == Stage::node ? Severity::blocker : Severity::warning;
}

bool is_cni_link(std::string_view name) {
  for (const char* start : {"cni", "flannel", "cali", "vxlan.calico", "tunl", "cilium", "weave", "kube-ipvs",
                            "kube-bridge", "nodelocaldns"})
    if (name.starts_with(start)) return true;
  return false;
}

}  // namespace checks
