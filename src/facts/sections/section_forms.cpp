#include "facts/sections/section_forms.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/sections/section_lines.hpp"

#include <algorithm>
#include <array>

namespace facts {

namespace {

using namespace lines;

// --- Whether the probe prints a section --------------------------------------------------------------

bool always(const Sections& /*sections*/, const Facts& /*facts*/) {
  return true;
}

bool has_tool(const Facts& facts, std::string_view name) {
  return std::ranges::find(facts.software.tools, name) != facts.software.tools.end();
}

/// True if one of these programs is installed.
template <const std::string_view& a, const std::string_view& b = a>
bool with(const Sections& /*sections*/, const Facts& facts) {
  return has_tool(facts, a) || has_tool(facts, b);
}

template <const std::string_view& tool, const std::string_view& path>
bool with_path(const Sections& /*sections*/, const Facts& facts) {
  return has_tool(facts, tool) && facts.software.paths.contains(std::string(path));
}

bool with_driver(const Sections& /*sections*/, const Facts& facts) {
  return facts.nvidia.driver.has_value();
}

/// True if `nvidia-smi -L` succeeded.
bool with_gpus(const Sections& sections, const Facts& /*facts*/) {
  const Section* list = sections.find("nvidia-smi");
  return list && list->status == 0;
}

bool with_several_gpus(const Sections& /*sections*/, const Facts& facts) {
  return facts.nvidia.gpus.size() > 1;
}

/// True if `nvidia-smi nvlink -s` listed a link.
bool with_links(const Sections& sections, const Facts& /*facts*/) {
  return std::ranges::any_of(sections.lines("nvidia-smi-nvlink"),
                             [](Line line) { return base::trim(line).starts_with("Link "); });
}

/// True if the host is a node.
bool with_kubelet(const Sections& /*sections*/, const Facts& facts) {
  return facts.software.paths.contains("/etc/kubernetes/kubelet.conf");
}

bool on_cgroup_v2(const Sections& /*sections*/, const Facts& facts) {
  return facts.software.paths.contains("/sys/fs/cgroup/cgroup.controllers");
}

bool with_driver_and_cli(const Sections& /*sections*/, const Facts& facts) {
  return facts.nvidia.driver.has_value() && has_tool(facts, "nvidia-container-cli");
}

/// True if devices may communicate past the IOMMU.
bool with_bridges(const Sections& /*sections*/, const Facts& facts) {
  return facts.nvidia.driver.has_value() && has_tool(facts, "lspci") && !facts.machine.iommus.empty();
}

bool with_etcd(const Sections& /*sections*/, const Facts& facts) {
  return has_tool(facts, "curl") &&
         std::ranges::find(facts.kubernetes.manifests, "etcd.yaml") != facts.kubernetes.manifests.end();
}

bool with_dev_files(const Sections& /*sections*/, const Facts& facts) {
  return facts.software.paths.contains("/dev/nvidiactl");
}

constexpr std::string_view ip = "ip", systemctl = "systemctl", iptables = "iptables", dpkg = "dpkg",
                           rpm = "rpm", containerd = "containerd", ctr = "ctr", runc = "runc",
                           docker = "docker", dockerd = "dockerd", crio = "crio", ctk = "nvidia-ctk",
                           smi = "nvidia-smi", kubelet = "kubelet", kubeadm = "kubeadm", kubectl = "kubectl",
                           stat = "stat", ss = "ss", getent = "getent", modinfo = "modinfo",
                           chronyc = "chronyc", smartctl = "smartctl", curl = "curl",
                           detect_virt = "systemd-detect-virt", kubelet_conf = "/etc/kubernetes/kubelet.conf",
                           containerd_socket = "/run/containerd/containerd.sock",
                           manager = "nv-fabricmanager";

using enum SectionForm::Lines;
using enum SectionForm::Status;

constexpr std::array forms = std::to_array<SectionForm>({
    {"clock", always, number, all, none},
    {"clock-end", always, number, all, none},
    {"machine", always, one_word, all, none},
    {"/etc/os-release", nullptr, assignment, some, none},
    {"/usr/lib/os-release", nullptr, assignment, some, none},
    {"/proc/sys/kernel/osrelease", always, one_word, all, none},
    {"/proc/sys/kernel/hostname", always, one_word, all, none},
    {"/proc/1/comm", always, one_word, all, none},
    {"/etc/machine-id", nullptr, one_word, all, none},
    {"/proc/self/status", always, named, all, none},
    {"/proc/meminfo", always, named, all, none},
    {"/etc/fstab", nullptr, fstab_entry, some, none},
    {"/proc/mounts", always, mount, all, none},
    {"/proc/self/mountinfo", always, mount_info, all, none},
    {"/lib/modules/*", nullptr, kernel_module, all, none},
    {"/boot/config-*", nullptr, kernel_option, all, none},
    {"/proc/config.gz", nullptr, kernel_option, all, any},
    {"/proc/modules", nullptr, loaded_module, all, none},
    {"/proc/filesystems", always, overlay, all, none},
    {"/proc/swaps", always, swap_area, all, none},
    {"/proc/cgroups", nullptr, cgroup, all, none},
    {"/sys/fs/cgroup/cgroup.controllers", on_cgroup_v2, controllers, some, none},
    {"/proc/cmdline", always, assignment, some, none},
    {"/proc/loadavg", always, load, all, none},
    {"/proc/buddyinfo", always, free_blocks, all, none},
    {"/proc/uptime", always, number, all, none},
    {"/proc/version", always, kernel_version, all, none},
    {"/sys/devices/system/node/online", nullptr, number_range, all, none},
    {"/sys/fs/selinux/enforce", nullptr, enabled, all, none},
    {"/sys/module/apparmor/parameters/enabled", nullptr, enabled, all, none},
    {"/sys/kernel/security/lockdown", nullptr, log_line, all, none},
    {"/etc/ufw/ufw.conf", nullptr, assignment, all, none},
    {"/etc/default/ufw", nullptr, assignment, all, none},
    {"/usr/share/nvidia/nvswitch/fabricmanager.cfg", nullptr, assignment, all, none},
    {"processes", always, process, all, none},
    {"sysctl", always, kernel_parameter, all, none},
    {"sysfs", always, path_value, all, none},
    {"environment", always, assignment, all, none},
    {"/etc/resolv.conf", nullptr, resolver, some, none},
    {"/run/systemd/resolve/resolv.conf", nullptr, resolver, some, none},
    {"/etc/multipath.conf", nullptr, multipath_rule, some, none},
    {"/etc/iscsi/initiatorname.iscsi", nullptr, assignment, some, none},
    {"/etc/ld.so.conf.d/*", nullptr, path, some, none},
    {"/etc/apt/*", nullptr, repository, some, none},
    {"/etc/yum.repos.d/*", nullptr, repository, some, none},
    {"/etc/containerd/certs.d/", nullptr, manifest, some, none},
    {"/etc/containerd/*", nullptr, setting, some, none},
    {"/etc/crio/*", nullptr, setting, some, none},
    {"/etc/docker/daemon.json", nullptr, has_brace, some, none},
    {"/etc/crictl.yaml", nullptr, has_colon, some, none},
    {"/etc/nvidia-container-runtime/config.toml", nullptr, setting, some, none},
    {"/etc/gpuadm/quarantine", nullptr, quarantine_entry, all, none},
    {"/etc/cdi/*", nullptr, has_colon, some, none},
    {"/run/cdi/*", nullptr, has_colon, some, none},
    {"/etc/kubernetes/admin.conf", nullptr, has_colon, some, none},
    {"/etc/kubernetes/kubelet.conf", nullptr, has_colon, some, none},
    {"/var/lib/kubelet/config.yaml", nullptr, has_colon, some, none},
    {"/var/lib/kubelet/kubeadm-flags.env", nullptr, assignment, some, none},
    {"/var/lib/kubelet/cpu_manager_state", nullptr, has_brace, some, none},
    {"/var/lib/kubelet/memory_manager_state", nullptr, has_brace, some, none},
    {"/etc/default/kubelet", nullptr, setting, some, none},
    {"/etc/sysconfig/kubelet", nullptr, setting, some, none},
    {"/etc/environment", nullptr, assignment, all, none},
    {"paths", always, kind_path, all, none},
    {"tools", always, name_path, all, none},
    {"/sys/module/", nullptr, one_word, all, none},
    {"/etc/kubernetes/manifests/", nullptr, manifest, all, none},
    {"/etc/kubernetes/pki/", nullptr, manifest, all, none},
    {"/etc/cni/net.d/", nullptr, manifest, some, none},
    {"/opt/cni/bin/", nullptr, manifest, all, none},
    {"/var/lib/kubelet/device-plugins/", nullptr, manifest, all, none},
    {"pci", always, pci_function, all, none},
    {"disks", with<stat>, file_system, all, zero},
    {"folders", with<stat>, file_mode, all, zero},
    {"storage-folders", nullptr, folder_mode, all, zero},
    {"links", always, network_link, all, none},
    {"link-values", always, path_value, all, none},
    {"rdma", nullptr, path_value, all, none},
    {"ip-links", with<ip>, ip_link, all, zero},
    {"addresses", with<ip>, ip_address, all, zero},
    {"routes", with<ip>, route, all, zero},
    {"routes6", nullptr, route, all, zero},
    {"listeners", with<ss>, listener, all, zero},
    {"/proc/net/tcp*", nullptr, proc_listener, all, none},
    {"/proc/net/*", nullptr, nullptr, some, none},
    {"virtualization", with<detect_virt>, one_word, all, no_error},
    {"container", with<detect_virt>, one_word, all, no_error},
    {"units", with<systemctl>, assignment, all, zero},
    {"unit-log/*", nullptr, nullptr, some, any},
    {"iptables", with<iptables>, iptables_version, some, zero},
    {"iptables-filter", nullptr, iptables_rule, all, zero},
    {"firewalld", nullptr, firewall_zone, all, zero},
    {"nftables", nullptr, nft_table, some, zero},
    {"packages", with<dpkg, rpm>, package, all, none},
    {"package-locks", with<dpkg>, package_lock, all, none},
    {"resolves", with<getent>, address_of_name, all, any},
    {"chrony", with<chronyc>, time_source, some, any},
    {"secure-boot", nullptr, number, all, zero},
    {"selinux-denials", nullptr, denial, all, none},
    {"smart", with<smartctl>, drive, all, none},
    {"xfs", nullptr, assignment, some, any},
    {"kernel-log", nullptr, nullptr, some, zero},  // its own reader knows the formats
    {"/sys/class/dmi/id/product_uuid", nullptr, one_word, all, none},
    {"/sys/class/dmi/id/product_name", nullptr, nullptr, some, none},
    {"/sys/class/dmi/id/sys_vendor", nullptr, nullptr, some, none},
    {"/sys/fs/pstore/", nullptr, one_word, all, none},
    {"/var/lib/systemd/pstore/", nullptr, one_word, all, none},
    {"/etc/systemd/*", nullptr, setting, some, none},
    {"/usr/lib/systemd/*", nullptr, setting, some, none},
    {"/etc/NetworkManager/*", nullptr, assignment, some, none},
    {"/usr/lib/NetworkManager/*", nullptr, assignment, some, none},
    {"/etc/modprobe.d/*", nullptr, words<2>, some, none},
    {"/usr/lib/modprobe.d/*", nullptr, words<2>, some, none},
    {"/var/lib/gpuadm/journal/log", nullptr, words<2>, some, none},
    {"/var/lib/etcd/", nullptr, one_word, all, none},
    {"/etc/kubernetes/pki/ca.crt", nullptr, nullptr, some, none},
    {"kube-proxy-mode", with_path<curl, kubelet_conf>, one_word, all, any},
    {"device-label", nullptr, has_colon, some, any},
    {"kubelet-state", nullptr, assignment, some, none},
    {"container-log/*", nullptr, nullptr, some, none},
    {"static-pods", nullptr, static_pod, all, none},
    {"file-modes", nullptr, file_mode, all, any},
    {"kube-apiserver/*", nullptr, nullptr, some, none},
    {"certificates", with_kubelet, certificate, all, none},
    {"control-plane", nullptr, words<2>, all, none},
    {"etcd-metrics", with_etcd, metric, all, any},
    {"pod-containers", nullptr, container_tab, some, none},
    {"kubelet-pods", nullptr, manifest, all, none},
    {"kubelet-log", nullptr, has_colon, some, any},
    {"kubelet-errors", nullptr, has_colon, some, none},
    {"runtime-errors/*", nullptr, has_colon, some, none},
    {"inotify", nullptr, inotify, some, none},
    {"kubelet", with<kubelet>, version, some, zero},
    {"kubeadm", with<kubeadm>, version, some, zero},
    {"kubectl", with<kubectl>, json_or_error, some, zero},
    {"containerd", with<containerd>, version, some, zero},
    {"containerd-dump", with<containerd>, setting, some, any},
    {"containerd-plugins", with_path<ctr, containerd_socket>, plugin, some, zero},
    {"containerd-imports", nullptr, path, all, none},
    {"runc", with<runc>, version, some, zero},
    {"docker", with<docker, dockerd>, version, some, any},
    {"docker-info", nullptr, assignment, some, any},
    {"crio", with<crio>, version, some, zero},
    {"nvidia-ctk", with<ctk>, version, some, any},
    {"gcc", nullptr, version, some, any},
    {"driver-build-log", nullptr, nullptr, some, zero},
    {"fabricmanager", with<manager>, version, some, zero},
    {"fabricmanager-log", nullptr, log_line, some, zero},
    {"dev-char", with_dev_files, path, all, none},
    {"gpu-libraries", with_driver, library, all, none},
    {"gpu-libraries-dangling", nullptr, library, all, none},
    {"driver-roots", nullptr, driver_root, all, none},
    {"nvidia-module", with<modinfo>, version, all, any},
    {"/proc/driver/nvidia/version", nullptr, module_version, some, none},
    {"/sys/module/nvidia/version", nullptr, version, all, none},
    {"acs", with_bridges, acs, all, zero},
    {"nvidia-container-cli", with_driver_and_cli, json_or_error, some, any},
    {"nvidia-smi", with<smi>, smi_list, some, any},
    {"nvidia-smi-uptime", with<smi>, number, all, none},
    {"nvidia-smi-xml", with_gpus, xml, some, zero},
    {"nvidia-smi-fields", with_gpus, smi_row, all, zero},
    {"nvidia-smi-nvlink", with_gpus, smi_links, some, any},
    {"nvidia-smi-nvlink-errors", with_links, smi_links, some, zero},
    {"nvidia-smi-topology", with_several_gpus, smi_topology, some, zero},
    {"nvlink-managers", nullptr, path, all, any},
    {"kubelet-devices", nullptr, json_or_error, some, zero},
    {"gpu-pods", nullptr, nullptr, all, none},
});

/// kubectl's exit status shows that there is no such kind; the readers of the tables evaluate it.
constexpr std::array tables = std::to_array<SectionForm>({
    {"clock", nullptr, number, all, none},
    {"readyz", nullptr, api_answer, some, any},
    {"version", nullptr, json_or_error, some, any},
    {"deprecated-apis", nullptr, prometheus, all, any},
    {"etcd-metrics", nullptr, metric, all, any},
    {"resource-api", nullptr, json_or_error, some, any},
    {"intent", nullptr, nullptr, some, none},
    {"device-plugin-log/*", nullptr, has_colon, some, any},
    {"pod-log/*", nullptr, nullptr, some, any},
    {"log/*", nullptr, nullptr, some, any},
    {"flags/*", nullptr, nullptr, some, none},
    {"nodes", nullptr, row, all, any},
    {"leases", nullptr, row, all, any},
    {"pods", nullptr, row, all, any},
    {"daemonsets", nullptr, row, all, any},
    {"deployments", nullptr, row, all, any},
    {"runtimeclasses", nullptr, row, all, any},
    {"namespaces", nullptr, row, all, any},
    {"quotas", nullptr, row, all, any},
    {"images", nullptr, row, all, any},
    {"webhooks", nullptr, row, all, any},
    {"endpoints", nullptr, row, all, any},
    {"apiservices", nullptr, row, all, any},
    {"events", nullptr, row, all, any},
    {"clusterpolicies", nullptr, row, all, any},
    {"deviceclasses", nullptr, row, all, any},
    {"devicetaintrules", nullptr, row, all, any},
    {"resourceslices", nullptr, row, all, any},
    {"resourceclaims", nullptr, row, all, any},
    {"storageclasses", nullptr, row, all, any},
    {"pvcs", nullptr, row, all, any},
    {"csidrivers", nullptr, row, all, any},
    {"csinodes", nullptr, row, all, any},
});

}  // namespace

std::span<const SectionForm> section_forms() {
  return forms;
}

std::span<const SectionForm> cluster_forms() {
  return tables;
}

}  // namespace facts
