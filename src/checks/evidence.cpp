#include "checks/evidence.hpp"

#include "gpuadm/checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace checks {

namespace {

constexpr std::string_view xml = "nvidia-smi-xml", smi = "nvidia-smi", log = "kernel-log",
                           containerd_file = "/etc/containerd/config.toml", dump = "containerd-dump";

constexpr std::array rows = std::to_array<Evidence>({
    {"host.ssh.*", {"/proc/self/status", "tools"}},
    {plan_evidence, {"paths", "tools", "units", "/etc/os-release", "machine", "/proc/modules", "pci"}},
    {plan_evidence, {"addresses", "routes", "/etc/kubernetes/kubelet.conf", "/proc/driver/nvidia/version"}},
    {"host.init.systemd", {"/proc/1/comm"}},
    {"host.os.*", {"/etc/os-release", "/usr/lib/os-release", "paths", "tools"}},
    {"host.arch.supported", {"machine"}},
    {"host.pkg.*", {"package-locks", "units", "/etc/apt/*", "/etc/yum.repos.d/*", "packages"}},
    {"host.reboot.required", {"paths"}},
    {"host.identity.unique-hostname", {"/proc/sys/kernel/hostname"}},
    {"host.identity.unique-mac", {"links", "ip-links"}},
    {"host.identity.unique-product-uuid", {"/sys/class/dmi/id/product_uuid"}},
    {"host.identity.unique-machine-id", {"/etc/machine-id"}},
    {"host.time.skew", {"clock", "clock-end"}},
    {"host.time.synced", {"chrony", "units", "paths"}},
    {"host.time.timezone-mixed", {"clock"}},
    {"host.cpu.count", {"/proc/self/status"}},
    {"host.mem.size", {"/proc/meminfo", smi, xml}},
    {"host.mem.ecc-errors", {"sysfs"}},
    {"host.hostname.*", {"/proc/sys/kernel/hostname"}},
    {"host.hostname.resolves", {"resolves"}},
    {"host.virt.*", {"virtualization", "container"}},
    {"host.kernel.panics", {"/sys/fs/pstore/", "/var/lib/systemd/pstore/"}},
    {"host.env.proxy", {"environment", "/etc/environment", "units", "/etc/systemd/system/*"}},
    {"host.disk.folders-owned", {"folders"}},
    {"host.disk.root-free", {"disks"}},
    {"host.disk.inodes", {"disks"}},
    {"host.disk.readonly-root", {"/proc/mounts"}},
    {"host.disk.io-errors", {log}},
    {"host.disk.smart", {"smart", "sysfs"}},
    {"host.disk.var-usr-same-fs", {"/proc/mounts", "paths", "packages"}},
    {"host.disk.swap-on",
     {"/proc/swaps", "/etc/fstab", "units", "/etc/systemd/zram-generator.conf",
      "/usr/lib/systemd/zram-generator.conf", "/var/lib/kubelet/config.yaml"}},
    {"host.disk.no-space", {"pod-containers", "kubelet-errors", "runtime-errors/*"}},
    {"kernel.version.*", {"/proc/sys/kernel/osrelease"}},
    {"kernel.config.*", {"/boot/config-*", "/proc/config.gz", "paths"}},
    {"kernel.module.*", {"/proc/modules", "/lib/modules/*", "/sys/module/", "/proc/filesystems", "paths"}},
    {"kernel.sysctl.*", {"sysctl"}},
    {"kernel.module.dm-thin", {dump, containerd_file}},
    {"kernel.version.cni-min", {"/etc/cni/net.d/"}},
    {"kernel.sysctl.rp-filter", {"addresses", "links", "ip-links", "/etc/cni/net.d/"}},
    {"kernel.sysctl.arp-neigh", {"sysfs"}},
    {"kernel.sysctl.kubelet-protect", {"/var/lib/kubelet/*", "/etc/default/kubelet"}},
    {"kernel.numa.balancing", {"sysctl", "/sys/devices/system/node/online", "/proc/buddyinfo"}},
    {"kernel.cgroup.*", {"/sys/fs/cgroup/cgroup.controllers", "/proc/cgroups", "paths"}},
    {"kernel.cgroup.version", {"/var/lib/kubelet/config.yaml"}},
    {"kernel.clocksource", {"sysfs", "virtualization"}},
    {"kernel.cpu.governor", {"sysfs"}},
    {"kernel.hugepages", {"/proc/cmdline", "sysfs"}},
    {"kernel.buddyinfo", {"/proc/buddyinfo"}},
    {"kernel.iommu.state", {"pci", "paths", "/proc/cmdline", "virtualization"}},
    {"kernel.pcie.acs", {"acs", "pci", "virtualization"}},
    {"kernel.cmdline.recorded", {"/proc/cmdline"}},
    {"kernel.zombies", {"processes", "/proc/uptime"}},
    {"kernel.dstate-nvidia", {"processes"}},
    {"kernel.inotify-left", {"inotify", "kubelet-errors"}},
    {"kernel.dmesg.*", {log}},
    {"kubeadm.executables", {"tools"}},
    {"kubeadm.versions-match", {"kubeadm", "kubelet", "kubectl"}},
    {"kubeadm.cidr-overlap", {"routes", "addresses"}},
    {"kubeadm.ports-free", {"listeners", "/proc/net/tcp", "/proc/net/tcp6", "units"}},
    {"kubeadm.foreign-cluster",
     {"paths", "units", "/var/lib/gpuadm/journal/log", "/etc/kubernetes/admin.conf",
      "/etc/kubernetes/kubelet.conf"}},
    {"kubeadm.one-cluster", {"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/kubelet.conf", "paths"}},
    {"kubeadm.leftover-config", {"/etc/kubernetes/kubelet.conf", "paths", "/etc/kubernetes/pki/", "units"}},
    {"kubeadm.manifests-empty",
     {"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/manifests/", "paths", "units"}},
    {"kubeadm.etcd-dir-empty", {"/etc/kubernetes/kubelet.conf", "/var/lib/etcd/", "paths", "units"}},
    {"kubeadm.leftover-cni", {"/etc/kubernetes/kubelet.conf", "/etc/cni/net.d/", "paths", "units"}},
    {"kubeadm.apiserver-endpoint", {"addresses", "routes", "environment", "/etc/environment"}},
    {"kubeadm.virtual-address", {"addresses", "routes"}},
    {"kubeadm.kubelet-bootstrap", {"kubelet-log", "paths", "units"}},
    {"kubeadm.repo-legacy", {"/etc/apt/*", "/etc/yum.repos.d/*"}},
    {"kubeadm.crisocket-ambiguous", {"paths"}},
    {"kubelet.*", {"paths"}},
    {"kubelet.service-active", {"units"}},
    {"kubelet.config-readable", {"/var/lib/kubelet/config.yaml"}},
    {"kubelet.feature-gates", {"/var/lib/kubelet/*", "/etc/default/kubelet", "kubelet"}},
    {"kubelet.unknown-flags", {"/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "kubelet"}},
    {"kubelet.cgroup-driver-match",
     {"/var/lib/kubelet/config.yaml", dump, containerd_file, "docker-info", "/etc/crio/*", "/proc/1/comm"}},
    {"kubelet.swap-policy", {"/var/lib/kubelet/config.yaml", "/proc/swaps", "paths"}},
    {"kubelet.eviction", {"/var/lib/kubelet/config.yaml", "disks"}},
    {"kubelet.certificate-expiry", {"certificates", "clock"}},
    {"kubelet.server-cert", {"/var/lib/kubelet/config.yaml"}},
    {"kubelet.max-pods", {"/var/lib/kubelet/config.yaml", "addresses"}},
    {"kubelet.reserved", {"/var/lib/kubelet/config.yaml"}},
    {"kubelet.cpu-topology-manager",
     {"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/cpu_manager_state",
      "/var/lib/kubelet/memory_manager_state"}},
    {"kubelet.device-plugin-sock", {"/var/lib/kubelet/device-plugins/", "pci"}},
    {"kubelet.root-dir-mounted", {"/proc/self/mountinfo"}},
    {"kubelet.exits", {"kubelet-state", "kubelet-errors", "pod-containers"}},
    {"kubelet.containers", {"pod-containers", "container-log/*", "kubelet-pods", "kubelet-errors"}},
    {"rt.sandbox-missing", {"pod-containers", "kubelet-errors", "runtime-errors/*"}},
    {"rt.image-pull", {"pod-containers", "kubelet-errors", "kubelet-pods", "runtime-errors/*"}},
    {"net.cni-plugin", {"pod-containers", "kubelet-errors", "runtime-errors/*"}},
    {"net.cni-config-present", {"/etc/cni/net.d/", "paths"}},
    {"net.cni-leftovers", {"links", "ip-links", "/etc/cni/net.d/"}},
    {"net.default-route", {"routes", "/proc/net/route"}},
    {"net.node-ip-correct", {"addresses", "/proc/net/fib_trie"}},
    {"net.resolv-conf-valid", {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}},
    {"net.coredns-loop", {"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}},
    {"net.proxy-covers-cluster-cidr", {"environment", "/etc/environment", "units", "addresses"}},
    {"net.nic-name-stable", {"links", "/proc/cmdline", "ip-links"}},
    {"net.networkmanager-cni", {"units", "/etc/NetworkManager/*", "/usr/lib/NetworkManager/*"}},
    {"net.systemd-networkd-policies", {"units", "/etc/systemd/networkd.conf*", "/etc/cni/net.d/"}},
    {"net.ntp-port", {"chrony"}},
    {"net.link-errors", {"link-values", "links"}},
    {"net.link-speed", {"link-values", "links"}},
    {"net.mtu-consistent", {"links", "ip-links"}},
    {"net.kube-proxy-mode", {"kube-proxy-mode"}},
    {"net.nodeport-range-clash", {"listeners", "/proc/net/tcp", "/proc/net/tcp6"}},
    {"rdma.*", {"rdma", "pci"}},
    {"rdma.nic.power", {log}},
    {"rdma.peermem.errors", {log}},
    {"rdma.nic.char-dev", {"sysfs", "paths"}},
    {"rdma.peermem.loaded", {"/proc/modules", "/proc/driver/nvidia/version"}},
    {"rdma.gpudirect.method", {"/proc/modules", "/proc/sys/kernel/osrelease", "/proc/driver/nvidia/version"}},
    {"rdma.gdrcopy", {"/proc/modules", "paths"}},
    {"rdma.nvidia-fs", {"/proc/modules", "sysfs"}},
    {"rdma.memlock", {"units"}},
    {"rdma.mofed-driver-ready", {"paths", "packages"}},
    {"rdma.ofed.version", {"sysfs", "packages"}},
    {"rdma.roce.lossless", {"links", "ip-links"}},
    {"rdma.nccl.topology", {"virtualization"}},
    {"rt.present", {"paths", "units", "containerd", "docker", "crio"}},
    {"rt.cri.*", {"paths", "units", "containerd"}},
    {"rt.cri.socket", {"/var/lib/kubelet/config.yaml"}},
    {"rt.cri.v1-api", {"containerd-plugins"}},
    {"rt.docker.*", {"docker", "docker-info", "paths", "units", "/etc/docker/daemon.json"}},
    {"rt.containerd.*", {"containerd", dump, containerd_file, "containerd-imports"}},
    {"rt.containerd.systemd-cgroup", {"/proc/1/comm", "/var/lib/kubelet/config.yaml"}},
    {"rt.containerd.disabled-cri", {"containerd-plugins"}},
    {"rt.containerd.root-space", {"disks", "pci"}},
    {"rt.containerd.limits", {"units", "/proc/modules", "pci"}},
    {"rt.containerd.imports-conflict", {"/etc/containerd/*"}},
    {"rt.containerd.config-version", {"/etc/containerd/*"}},
    {"rt.runc.version", {"runc"}},
    {"rt.crictl.config", {"/etc/crictl.yaml", "tools"}},
    {"rt.crio.config", {"crio", "/etc/crio/*", "paths"}},
    {"sec.cis.1.1.*", {"file-modes", "static-pods"}},
    {"sec.cis.1.2.*", {"static-pods"}},
    {"sec.cis.1.2.1", {"kube-apiserver/authentication-config"}},
    {"sec.cis.1.2.6", {"kube-apiserver/authorization-config"}},
    {"sec.cis.1.2.7", {"kube-apiserver/authorization-config"}},
    {"sec.cis.1.2.8", {"kube-apiserver/authorization-config"}},
    {"sec.cis.1.2.9", {"kube-apiserver/admission-control-config-file"}},
    {"sec.cis.1.2.28", {"kube-apiserver/encryption-provider-config"}},
    {"sec.cis.1.3.*", {"static-pods"}},
    {"sec.cis.1.4.*", {"static-pods"}},
    {"sec.cis.2.*", {"static-pods"}},
    {"sec.cis.3.2.1", {"static-pods", "kube-apiserver/audit-policy-file"}},
    {"sec.cis.4.1.*", {"file-modes"}},
    {"sec.cis.4.2.*",
     {"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet"}},
    {"sec.cis.4.3.1", {"listeners"}},
    {"sec.cis.5.2.1",
     {"static-pods", "kube-apiserver/admission-control-config-file", "kube-apiserver/pod-security"}},
    {"sec.selinux.*", {"/sys/fs/selinux/enforce", "packages"}},
    {"sec.selinux.denials", {"selinux-denials"}},
    {"sec.apparmor.state", {"/sys/module/apparmor/parameters/enabled", "tools"}},
    {"sec.firewalld.active", {"units"}},
    {"sec.fapolicyd", {"units"}},
    {"sec.ufw.active", {"/etc/ufw/ufw.conf", "/etc/default/ufw", "units"}},
    {"sec.iptables.*", {"iptables"}},
    {"sec.iptables.backend", {"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"}},
    {"sec.iptables.forward-policy", {"iptables-filter"}},
    {"sec.iptables.unexpected-drops", {"iptables-filter"}},
    {"sec.secureboot.mok", {"secure-boot", log, "pci", "/proc/driver/nvidia/version"}},
    {"sec.lockdown", {"/sys/kernel/security/lockdown"}},
    {"sec.umask-hardening", {"/proc/self/status"}},
    {"sec.noexec-var", {"/proc/mounts"}},
    {"st.etcd-metrics-latency", {"etcd-metrics", "/etc/kubernetes/manifests/"}},
    {"st.disk-type-scheduler", {"sysfs", "/proc/mounts", "virtualization"}},
    {"st.overlay-dtype", {"xfs", "disks", "/proc/mounts"}},
    {"st.fs-supported", {"disks", "/proc/mounts"}},
    {"st.nfs-client", {"disks", "/proc/mounts", "tools"}},
    {"st.multipathd", {"units", "/etc/multipath.conf"}},
    {"st.mount-missing", {"/etc/fstab", "/proc/mounts"}},
    {"st.iscsi", {"/etc/iscsi/initiatorname.iscsi"}},
    {"st.raid-degraded", {"sysfs"}},
    {"st.local-nvme-count", {"sysfs", "/sys/class/dmi/id/product_name"}},
});

bool fits(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

/// The sections that a check depends on, as patterns.
std::vector<std::string_view> sections_of(std::string_view id) {
  std::vector<std::string_view> patterns;
  const auto add = [&](std::span<const Evidence> table) {
    for (const Evidence& row : table) {
      if (!fits(row.id, id)) continue;
      for (const std::string_view pattern : row.sections)
        if (!pattern.empty()) patterns.push_back(pattern);
    }
  };
  add(rows);
  add(gpu_evidence());
  return patterns;
}

bool any_fits(const std::vector<std::string_view>& patterns, std::string_view section) {
  return std::ranges::any_of(patterns, [&](std::string_view pattern) { return fits(pattern, section); });
}

}  // namespace

bool rests_on(std::string_view id, std::string_view section) {
  return any_fits(sections_of(id), section);
}

std::optional<std::string> unread_evidence(std::string_view id,
                                           const std::map<std::string, std::string>& unread) {
  if (unread.empty()) return std::nullopt;
  const auto patterns = sections_of(id);
  for (const auto& [name, why] : unread)
    if (any_fits(patterns, name)) return fmt::format("{} could not be read: {}", name, why);
  return std::nullopt;
}

std::optional<std::string> unread_for_plan(const facts::Facts& facts) {
  return unread_evidence(plan_evidence, facts.unread);
}

}  // namespace checks
