#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/families.hpp"

#include "checks/kubelet/distribution.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using base::Version;

constexpr std::string_view reset =
    "back up what you need, then: kubeadm reset -f && rm -rf /etc/cni/net.d /var/lib/etcd";

void foreign_distribution(const Subject& s, const Running& running, Verdicts& out) {
  const Distribution& one = *running.distribution;
  out.fail(
      Severity::blocker, fmt::format("a {} cluster runs on this host", one.name),
      running.evidence + (s.facts.software.paths.contains(std::string(one.folder))
                              ? fmt::format(", its data are in {}", one.folder)
                              : ""),
      fmt::format("gpuadm creates clusters with kubeadm and does not manage {}: use another host; or, if the "
                  "cluster and its data are to be deleted: {}",
                  one.name, one.removal));
}

/// Judges leftovers of Kubernetes on the host. `there`: the leftover of this check, empty if there is none.
void leftover(const Subject& s, Verdicts& out, std::string_view what, const std::vector<std::string>& there) {
  if (there.empty()) return;
  if (const Running running = distribution_of(s.facts); running.distribution)
    return out.skip(fmt::format("{} of the {} cluster on this host", what, running.distribution->name));
  switch (standing_of(s)) {
    case Standing::running:
      return out.pass(fmt::format("{} of the cluster that runs on this host", what));
    case Standing::unfinished:
      return out.fail(Severity::note,
                      fmt::format("the host has {} of an unfinished run; this run continues it", what),
                      list(there), "kube.init");
    case Standing::foreign:
      return out.fail(
          Severity::blocker, fmt::format("the host has {} of another cluster, to which it belongs", what),
          fmt::format("{}; its kubelet runs for {}", list(there), s.facts.kubernetes.kubelet_server),
          "remove the node from that cluster (kubectl drain, kubectl delete node); " + std::string(reset));
    case Standing::leftovers:
    case Standing::none:
      break;
  }
  out.fail(Severity::blocker, fmt::format("the host has {} of an earlier cluster", what), list(there),
           std::string(reset));
}

void foreign_cluster(const Subject& s, Verdicts& out) {
  if (const Running running = distribution_of(s.facts); running.distribution)
    return foreign_distribution(s, running, out);
  if (!has_foreign_cluster(s.facts)) return;
  const std::string evidence = cluster_text(s.facts);
  if (s.decisions.may_exist) return out.pass(evidence + ": described by the cluster file");
  const bool plane = s.facts.kubernetes.admin_conf;
  const std::string host = s.host.endpoint.local ? "" : " " + s.host.name;
  out.fail(Severity::blocker,
           plane ? "a Kubernetes cluster that gpuadm did not create runs on this host"
                 : "this host is a node of a cluster that gpuadm did not create",
           evidence,
           fmt::format(
               "to manage it with gpuadm: gpuadm adopt{} -o cluster.yaml, then gpuadm apply -f cluster.yaml; "
               "{}gpuadm reset{} --force",
               plane ? host : " CONTROL-PLANE",
               plane ? "to delete it: "
                     : "to remove the host from it: kubectl drain and kubectl delete node, then ",
               host));
}

void manifests_empty(const Subject& s, Verdicts& out) {
  std::vector<std::string> there;
  for (const char* name :
       {"kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml", "etcd.yaml"})
    if (has(s.facts.kubernetes.manifests, name))
      there.push_back(std::string("/etc/kubernetes/manifests/") + name);
  leftover(s, out, "static pods", there);
}

void leftover_config(const Subject& s, Verdicts& out) {
  const auto& kubernetes = s.facts.kubernetes;
  std::vector<std::string> there;
  if (kubernetes.kubelet_conf) there.emplace_back("/etc/kubernetes/kubelet.conf");
  if (kubernetes.bootstrap_conf) there.emplace_back("/etc/kubernetes/bootstrap-kubelet.conf");
  if (kubernetes.admin_conf) there.emplace_back("/etc/kubernetes/admin.conf");
  if (kubernetes.ca) there.emplace_back("/etc/kubernetes/pki/ca.crt");
  leftover(s, out, "configuration", there);
}

void etcd_dir_empty(const Subject& s, Verdicts& out) {
  if (!is_control_plane(s)) return out.skip("a worker has no etcd");
  leftover(
      s, out, "etcd data",
      s.facts.kubernetes.etcd_data ? std::vector<std::string>{"/var/lib/etcd"} : std::vector<std::string>{});
}

void leftover_cni(const Subject& s, Verdicts& out) {
  std::vector<std::string> there;
  for (const std::string& name : s.facts.kubernetes.cni_configs)
    if (name.ends_with(".conflist") || name.ends_with(".conf")) there.push_back("/etc/cni/net.d/" + name);
  for (const facts::Link& link : s.facts.network.links)
    if (is_cni_link(link.name)) there.push_back("link " + link.name);
  if (there.empty()) return;
  if (const Running running = distribution_of(s.facts); running.distribution)
    return out.skip(
        fmt::format("of the {} cluster on this host: {}", running.distribution->name, list(there)));
  const Standing standing = standing_of(s);
  if (standing == Standing::running) return out.pass("of the cluster that runs on this host: " + list(there));
  if (s.facts.gpuadm_installed) return out.pass("of an earlier run: " + list(there));
  out.fail(Severity::warning, "a network plugin of an earlier installation is configured", list(there),
           "rm /etc/cni/net.d/* and `ip link delete` the links, or reboot; files of podman and CRI-O can "
           "stay if they sort after those of Kubernetes");
}

struct Port {
  int number;
  std::string_view owner;  ///< process that uses it in a cluster, as shown by ss
};
constexpr std::array control_plane_ports = {
    Port{6443, "kube-apiserver"},   Port{2379, "etcd"},           Port{2380, "etcd"}, Port{10250, "kubelet"},
    Port{10257, "kube-controller"}, Port{10259, "kube-scheduler"}};
constexpr std::array worker_ports = {Port{10250, "kubelet"}};

void ports_free(const Subject& s, Verdicts& out) {
  if (!s.facts.network.listeners) return out.unknown("listening ports could not be read");
  const Standing standing = standing_of(s);
  const bool expected = standing == Standing::running || standing == Standing::unfinished;
  std::vector<Port> ports = is_control_plane(s)
                                ? std::vector<Port>(control_plane_ports.begin(), control_plane_ports.end())
                                : std::vector<Port>(worker_ports.begin(), worker_ports.end());
  const spec::NetworkPluginRow& plugin = spec::row_of(s.cluster.network.plugin);
  if (plugin.own_port != 0) ports.push_back({plugin.own_port, plugin.process});
  if (const Running running = distribution_of(s.facts); running.distribution)
    return out.skip(fmt::format("a {} cluster runs on this host", running.distribution->name));
  int ours = 0;
  for (const Port& port : ports) {
    const auto taken = std::ranges::find(*s.facts.network.listeners, port.number, &facts::Listener::port);
    if (taken == s.facts.network.listeners->end()) continue;
    const bool fits = taken->process.empty() || taken->process.starts_with(port.owner);
    if (expected && fits) {
      ++ours;
      continue;
    }
    const std::string process = taken->process.empty() ? "an unknown process" : taken->process;
    out.fail(Severity::blocker, fmt::format("port {} is in use by {}", port.number, process),
             fmt::format("{} listens on {}:{}", process, taken->address, taken->port),
             fits && !taken->process.empty()
                 ? std::string(reset)
                 : fmt::format("stop {}, or configure another port for it: ss -ltnp 'sport = :{}'", process,
                               port.number));
  }
  if (ours > 0 && out.silent()) out.pass("in use by the cluster that runs on this host");
}

/// A program, and its package on Debian and on Red Hat; SUSE's are called like these.
struct Program {
  std::string_view name, debian, redhat;
};
constexpr Program programs[] = {{"ip", "iproute2", "iproute"},
                                {"iptables", "iptables", "iptables"},
                                {"mount", "mount", "util-linux"},
                                {"nsenter", "util-linux", "util-linux"},
                                {"conntrack", "conntrack", "conntrack-tools"},
                                {"ebtables", "ebtables", "iptables-ebtables"},
                                {"ethtool", "ethtool", "ethtool"},
                                {"socat", "socat", "socat"},
                                {"tc", "iproute2", "iproute-tc"},
                                {"touch", "coreutils", "coreutils"},
                                {"crictl", "cri-tools", "cri-tools"}};

/// "apt-get install iptables socat"; for other families: the packages to install.
std::string install_line(const Subject& s, const std::vector<std::string>& missing) {
  const facts::Family family = s.facts.os.family;
  std::vector<std::string> packages;
  for (const Program& program : programs) {
    std::string package(family == facts::Family::debian ? program.debian : program.redhat);
    if (family == facts::Family::suse && (package == "iproute" || package == "iproute-tc"))
      package = "iproute2";
    if (family == facts::Family::suse && package == "iptables-ebtables") package = "ebtables";
    if (has(missing, std::string(program.name)) && !has(packages, package)) packages.push_back(package);
  }
  const std::string line = base::join(packages, " ");
  const std::string source =
      has(packages, "cri-tools") ? " (cri-tools: from the Kubernetes package repository)" : "";
  return fmt::format("{} {}{}", facts::row_of(family).install, line, source);
}

void executables(const Subject& s, Verdicts& out) {
  if (s.facts.software.tools.empty()) return out.unknown("the probe listed no tools");
  std::vector<std::string> required = {"ip", "iptables", "mount", "nsenter"}, missing, useful;
  if (!s.kubernetes || kubernetes_before(s, 32)) required.emplace_back("conntrack");
  for (const std::string& tool : required)
    if (!has(s.facts.software.tools, tool)) missing.push_back(tool);
  for (const char* tool : {"ebtables", "ethtool", "socat", "tc", "touch", "crictl"})
    if (!has(s.facts.software.tools, tool)) useful.emplace_back(tool);
  // The packages of Kubernetes depend on all of these.
  const bool from_packages = s.cluster.kubernetes.source == spec::Source::packages;
  if (!missing.empty() && from_packages)
    return out.fail(Severity::note, "programs that kubeadm needs are installed with its packages",
                    list(missing), "kube.packages");
  if (!missing.empty() && s.decisions.of(s.host.name).programs_in_bundle)
    return out.fail(Severity::note, "programs that kubeadm needs are installed from the bundle",
                    list(missing), "kube.programs");
  if (!missing.empty())
    return out.fail(Severity::blocker, "programs that kubeadm needs are missing: " + list(missing),
                    "not in PATH: " + list(missing), install_line(s, missing));
  if (!useful.empty())
    out.fail(Severity::note, "programs that kubeadm recommends are missing: " + list(useful),
             "not in PATH: " + list(useful), install_line(s, useful));
}

void versions_match(const Subject& s, Verdicts& out) {
  const auto& k = s.facts.kubernetes;
  const auto kubelet = k.kubelet ? Version::parse(*k.kubelet) : std::nullopt;
  const auto kubeadm = k.kubeadm ? Version::parse(*k.kubeadm) : std::nullopt;
  const auto wanted = spec::kubernetes_of(s.cluster, s.decisions);
  if (!kubelet && !kubeadm) return out.pass("neither kubeadm nor the kubelet is installed yet");
  const std::string evidence =
      fmt::format("kubeadm {}, kubelet {}", k.kubeadm.value_or("none"), k.kubelet.value_or("none"));
  const Standing standing = standing_of(s);
  if (standing == Standing::running && kubelet && wanted && wanted->minor != kubelet->minor)
    return out.fail(
        Severity::blocker,
        fmt::format("a node of Kubernetes {} runs on this host; init does not upgrade",
                    kubelet->minor_text()),
        fmt::format("{}; requested: {}", evidence, wanted->text()),
        fmt::format("set kubernetes.version to {}, or upgrade with kubeadm upgrade", kubelet->minor_text()));
  if (k.kubelet && k.kubeadm && s.cluster.kubernetes.source == spec::Source::installed) {
    const int behind = kubeadm.value_or(Version{}).minor - kubelet.value_or(Version{}).minor;
    if (behind < 0)
      return out.fail(Severity::blocker, "the kubelet is newer than kubeadm", evidence,
                      "install the kubelet of kubeadm's version");
    // Version skew policy: three minor versions since 1.28, two before.
    if (behind > (kubernetes_from(s, 28) ? 3 : 2))
      return out.fail(Severity::blocker, "the kubelet is too old for kubeadm", evidence,
                      "install the kubelet of kubeadm's version");
  }
  out.pass(evidence);
}

constexpr std::array kubeadm_rows = std::to_array<Check>({
    {"kubeadm.executables", "the programs that kubeadm needs are installed",
     "kubeadm, kubelet and kube-proxy call them", "tools", preflight, executables},
    {"kubeadm.versions-match", "kubeadm and the kubelet have compatible versions",
     "kubeadm refuses versions too far apart", "kubeadm kubelet kubectl", preflight, versions_match},
    {"kubeadm.ports-free", "the ports of Kubernetes are free", "kubeadm refuses ports that are in use",
     "listeners /proc/net/tcp /proc/net/tcp6 units", preflight, ports_free},
    {"kubeadm.foreign-cluster", "no cluster runs on this host that gpuadm did not create",
     "init must not change the settings of an unknown cluster",
     "paths units listeners /var/lib/gpuadm/journal/log /etc/kubernetes/admin.conf "
     "/etc/kubernetes/kubelet.conf",
     preflight, foreign_cluster},
    {"kubeadm.leftover-config", "the host has no configuration of another cluster",
     "kubeadm refuses existing files", "/etc/kubernetes/kubelet.conf paths /etc/kubernetes/pki/ units",
     preflight, leftover_config},
    {"kubeadm.manifests-empty", "the host has no static pods of another cluster", "the kubelet starts them",
     "/etc/kubernetes/kubelet.conf /etc/kubernetes/manifests/ paths units", preflight, manifests_empty},
    {"kubeadm.etcd-dir-empty", "the host has no etcd data of another cluster", "etcd uses existing data",
     "/etc/kubernetes/kubelet.conf /var/lib/etcd/ paths units", preflight, etcd_dir_empty},
    {"kubeadm.leftover-cni", "the host has no network plugin of another installation",
     "the container runtime uses the first file in /etc/cni/net.d",
     "/etc/kubernetes/kubelet.conf /etc/cni/net.d/ paths units", preflight, leftover_cni},
});

}  // namespace

std::span<const Check> kubeadm_checks() {
  return kubeadm_rows;
}

}  // namespace checks
