#include "checks/last_lines.hpp"

#include <array>

/// The messages that gpuadm knows, the most specific first. A program writes many others: they are quoted.
namespace checks {

namespace {

constexpr std::array common = {
    KnownLine{"too many open files", "",
              "sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288; if it is no "
              "watcher: raise LimitNOFILE of the unit (systemctl edit UNIT)"},
    KnownLine{"no space left on device", "", "df -h; df -i; free space on the file system of the line"},
    KnownLine{"address already in use", "", "ss -ltnp shows the program that has the port: stop it"},
    KnownLine{"cannot open shared object file", "",
              "ldconfig, and reinstall the package of the library that the line names"},
    KnownLine{"exec format error", "the program is built for another architecture",
              "install the build for the machine that uname -m shows"},
    KnownLine{"certificate has expired or is not yet valid", "",
              "date; timedatectl: a clock that is wrong does this; otherwise renew the certificate "
              "(kubeadm certs check-expiration)"},
    KnownLine{"certificate signed by unknown authority", "",
              "the CA of the cluster is another one: compare /etc/kubernetes/pki/ca.crt on both hosts"},
    KnownLine{"read-only file system", "", "dmesg | grep -i remount; repair the disk, then remount it"}};

/// pkg/kubelet of Kubernetes: kubelet.go, cm/, kubelet_node_status.go, cmd/kubelet/app/server.go.
constexpr std::array of_kubelet = {
    KnownLine{"unknown flag", "",
              "remove the flag from /var/lib/kubelet/kubeadm-flags.env or /etc/default/kubelet, then: "
              "systemctl restart kubelet"},
    KnownLine{
        "more than 8 numa nodes", "",
        "set topologyManagerPolicy: none in /var/lib/kubelet/config.yaml, or on Kubernetes 1.31 and newer "
        "topologyManagerPolicyOptions: { max-allowable-numa-nodes: \"NUMBER\" }; then: systemctl restart "
        "kubelet"},
    KnownLine{"expected machine state is different from the real one", "",
              "the memory or its NUMA nodes have changed: drain the node, systemctl stop kubelet, rm "
              "/var/lib/kubelet/memory_manager_state, systemctl start kubelet"},
    KnownLine{"memory manager error", "",
              "drain the node, systemctl stop kubelet, rm /var/lib/kubelet/memory_manager_state, systemctl "
              "start kubelet"},
    KnownLine{
        "could not restore state from checkpoint", "",
        "drain the node, systemctl stop kubelet, rm /var/lib/kubelet/cpu_manager_state, systemctl start "
        "kubelet"},
    KnownLine{
        "differs from state checkpoint policy", "",
        "drain the node, systemctl stop kubelet, rm /var/lib/kubelet/cpu_manager_state, systemctl start "
        "kubelet"},
    KnownLine{
        "cpu manager error", "",
        "drain the node, systemctl stop kubelet, rm /var/lib/kubelet/cpu_manager_state, systemctl start "
        "kubelet"},
    KnownLine{"kubereserved.cpu to be greater than zero", "",
              "set reservedSystemCPUs, or cpu under kubeReserved, in /var/lib/kubelet/config.yaml"},
    KnownLine{"is not allowed to modify node", "",
              "the host's name has changed: hostnamectl set-hostname the node's name (in system:node:NAME of "
              "/etc/kubernetes/kubelet.conf), then: systemctl restart kubelet"},
    KnownLine{"existing bootstrap client certificate", "",
              "the certificate for joining has expired: kubeadm token create --print-join-command on a "
              "control plane, then join the host again"},
    KnownLine{
        "unable to load bootstrap kubeconfig", "",
        "the kubelet has neither a certificate nor a bootstrap file: kubeadm reset -f and join the host "
        "again"},
    KnownLine{"limitedswap", "",
              "boot with cgroup v2, or remove memorySwap from /var/lib/kubelet/config.yaml; then: systemctl "
              "restart kubelet"},
    KnownLine{"swap", "",
              "swapoff -a, or set failSwapOn: false in /var/lib/kubelet/config.yaml; then: systemctl restart "
              "kubelet"},
    KnownLine{"cgroup v1", "",
              "boot with cgroup v2, or set failCgroupV1: false in /var/lib/kubelet/config.yaml; then: "
              "systemctl restart kubelet"},
    KnownLine{"cgroup driver", "",
              "set cgroupDriver in /var/lib/kubelet/config.yaml to the runtime's, then: systemctl restart "
              "kubelet"},
    KnownLine{"invalid kernel flag", "",
              "sysctl -w the value that the line expects, or set protectKernelDefaults: false in "
              "/var/lib/kubelet/config.yaml; then: systemctl restart kubelet"},
    KnownLine{"validate service connection", "",
              "the container runtime does not offer its CRI: crictl info, systemctl status of the runtime; "
              "containerd: remove cri from disabled_plugins, or upgrade to 1.6 or newer"},
    KnownLine{"root container [kubepods] doesn't exist", "",
              "a controller of control groups is missing, or the tree of the kubelet was removed: systemctl "
              "restart kubelet; cat /sys/fs/cgroup/cgroup.controllers",
              "kernel.cgroup.controllers"},
    KnownLine{"status=203/exec", "systemd cannot execute the program",
              "ls -lZ /usr/bin/kubelet: it must be there, executable, of this architecture, and with SELinux "
              "labeled bin_t (restorecon -v /usr/bin/kubelet), then: systemctl restart kubelet",
              "sec.selinux.denials"},
    KnownLine{"qos cgroup", "",
              "systemctl restart kubelet; if it fails again, compare cgroupDriver with the runtime's, and "
              "reboot"},
    KnownLine{"missing cgroups", "",
              "the kernel has no such cgroup controller: cgroup_enable=memory cgroup_enable=cpuset on its "
              "command line, then reboot"},
    KnownLine{"config", "", "correct /var/lib/kubelet/config.yaml, then: systemctl restart kubelet"}};

constexpr std::array of_units = {
    KnownLine{"failed to recover state", "containerd cannot restore its sandboxes and containers",
              "systemctl stop kubelet containerd; mv /var/lib/containerd /var/lib/containerd.old (images are "
              "pulled again, and pods are created again); systemctl start containerd kubelet"},
    KnownLine{"specified both as a flag and in the configuration file", "",
              "remove the option from /etc/docker/daemon.json, or from ExecStart (systemctl cat docker shows "
              "it), then: systemctl restart docker"},
    KnownLine{"status=203/exec", "systemd cannot execute the program",
              "ls -lZ the program of ExecStart: it must be there, executable, of this architecture, and with "
              "SELinux have its label (restorecon -v)"},
    KnownLine{
        "nv_warn_nothing_to_do", "the driver shows the fabric manager no NVSwitch",
        "modprobe ib_umad && systemctl restart nvidia-fabricmanager on NVLink 5 (B200 and newer); lspci "
        "-d 10de: lists the switches of older machines; a host without NVSwitches needs no fabric "
        "manager: systemctl disable --now nvidia-fabricmanager"},
    KnownLine{"nvswitch driver version", "",
              "install the fabric manager of the driver's exact version, then: systemctl restart "
              "nvidia-fabricmanager"},
    KnownLine{"version mismatch", "", "install it in the driver's exact version, then reboot the host"},
    KnownLine{"driver/library version mismatch", "", "reboot the host, or reload the nvidia modules"},
    KnownLine{"failed to query nvidia devices", "",
              "nvidia-modprobe -c0 -u; if device files are still missing: dmesg | grep NVRM"}};

/// NVIDIA/k8s-device-plugin: README, issues 478, 634, 1220, 1482, 1574; internal/rm, internal/mps, cmd.
constexpr std::array of_plugins = {
    KnownLine{
        "insufficient permissions", "the device plugin may not read MIG devices",
        "set NVIDIA_MIG_MONITOR_DEVICES=all and privileged: true in its DaemonSet, as NVIDIA's manifest "
        "for MIG has them"},
    KnownLine{"invalid mig configuration", "a GPU has MIG on and no instances, or instances of several sizes",
              "nvidia-smi mig -lgi on the node; gpuadm gpu mig configures the instances of all its GPUs"},
    KnownLine{"nvsandboxutils", "a library of the driver does not match the toolkit (nvsandboxutils)",
              "install driver and toolkit on the node in the versions of one release: nvidia-smi; nvidia-ctk "
              "--version; upgrade the older one"},
    KnownLine{
        "error getting device memory: not supported",
        "the device plugin cannot read the memory of a GPU that shares it with the processor",
        "use the newest release of the device plugin: it has a fallback for GPUs such as GB10 and Thor"},
    KnownLine{
        "mps daemon", "the device plugin finds no MPS control daemon",
        "kubectl get pods -A -o wide | grep mps-control-daemon, and read its log; the node needs the label "
        "nvidia.com/mps.capable=true"},
    KnownLine{"could not load nvml library",
              "the device plugin does not find the driver: it runs without the nvidia runtime",
              "set runtimeClassName: nvidia in its pods, or make nvidia containerd's default runtime"},
    KnownLine{"incompatible strategy detected auto",
              "the device plugin does not find the driver: it runs without the nvidia runtime",
              "set runtimeClassName: nvidia in its pods, or make nvidia containerd's default runtime"},
    KnownLine{
        "error enumerating all possible devices", "NVIDIA's DRA driver does not find the driver's libraries",
        "set nvidiaDriverRoot of its chart to the folder that has usr/lib/*/libnvidia-ml.so.1 (/ on a host "
        "with the driver's packages, /run/nvidia/driver with the GPU Operator); another file or folder of "
        "that name on its search path hides it"},
    KnownLine{"error_library_not_found",
              "the device plugin does not find the driver: it runs without the nvidia runtime",
              "set runtimeClassName: nvidia in its pods, or make nvidia containerd's default runtime"},
    KnownLine{"driver/library version mismatch",
              "the device plugin's driver libraries and the kernel module have different versions",
              "reboot the node, or reload the nvidia modules"},
    KnownLine{"xidcriticalerror", "the device plugin marked a GPU unhealthy after an Xid",
              "gpuadm doctor --stage node --only gpu. on that node"},
    KnownLine{"arking device as unhealthy", "the device plugin marked a GPU unhealthy",
              "gpuadm doctor --stage node --only gpu. on that node"},
    KnownLine{
        "failed to initialize nvml: unknown error",
        "the device plugin's container may not open the GPU's devices",
        "delete the plugin's pod (kubectl delete pod); if it happens again, use runc instead of crun, or "
        "CDI, and check /dev/char on the node"},
    KnownLine{"failed to initialize nvml", "the device plugin cannot open the driver",
              "delete the plugin's pod (kubectl delete pod), and run nvidia-smi on the node"},
    KnownLine{"no devices found", "the device plugin finds no GPU", "nvidia-smi -L on the node"},
    KnownLine{
        "failed to create fs watcher", "the device plugin can create no inotify instance",
        "on the node: sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288 | "
        "tee -a /etc/sysctl.d/99-gpuadm.conf, then delete the plugin's pod"}};

constexpr std::string_view full_etcd =
    "gpuadm etcd defrag, then: etcdctl alarm disarm; a larger --quota-backend-bytes in "
    "/etc/kubernetes/manifests/etcd.yaml";
constexpr std::string_view damaged_etcd =
    "one of several members: remove it (etcdctl member remove) and join the host again; the only one: gpuadm "
    "etcd restore with the newest snapshot";
constexpr std::string_view ipvs_modules =
    "modprobe -a ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh nf_conntrack, and the same names in "
    "/etc/modules-load.d/ipvs.conf; then delete the pod";

/// containerd, runc, the kubelet, etcd, CoreDNS, flannel and kube-proxy about a pod.
constexpr std::array of_pods = {
    KnownLine{"no runtime for", "its RuntimeClass is not configured in the container runtime",
              "nvidia-ctk runtime configure --runtime=containerd && systemctl restart containerd",
              "nct.runtime-registered"},
    KnownLine{"nvidia-container-runtime\": executable file not found",
              "the NVIDIA Container Toolkit is not installed",
              "install nvidia-container-toolkit, then: systemctl restart containerd", "nct.installed"},
    KnownLine{"nvidia-container-runtime: no such file", "the NVIDIA Container Toolkit is not installed",
              "install nvidia-container-toolkit, then: systemctl restart containerd", "nct.installed"},
    KnownLine{"apparmor_parser\": executable file not found", "the program apparmor_parser is not installed",
              "apt-get install apparmor, or the package of the distribution that has apparmor_parser"},
    KnownLine{"detection error: open failed",
              "the driver's libraries are not those that the toolkit has listed",
              "ldconfig; then, if CDI is used: nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml",
              "nct.cli-info"},
    KnownLine{"alarm nospace", "etcd's database has reached its size limit", full_etcd},
    KnownLine{"database space exceeded", "etcd's database has reached its size limit", full_etcd},
    KnownLine{"panic: freepages", "etcd's database is damaged", damaged_etcd},
    KnownLine{"panic: page ", "etcd's database is damaged", damaged_etcd},
    KnownLine{"crc mismatch", "a file of etcd is damaged", damaged_etcd},
    KnownLine{"failed to find database snapshot file", "a file of etcd is missing", damaged_etcd},
    KnownLine{"cannot assign requested address", "an address of its configuration is not one of the host",
              "ip address; gpuadm repair address, if the host's address has changed"},
    KnownLine{
        "plugin/loop: loop", "the cluster's DNS forwards its questions to itself",
        "set resolvConf: in /var/lib/kubelet/config.yaml to a file without 127.0.0.0/8 "
        "(/run/systemd/resolve/resolv.conf), systemctl restart kubelet, then delete the pods of CoreDNS"},
    KnownLine{"kernel modules are not loaded: [ip_vs", "the kernel modules of IPVS are not loaded",
              ipvs_modules},
    KnownLine{"can't use the ipvs proxier", "kube-proxy cannot use IPVS", ipvs_modules},
    KnownLine{
        "table does not exist (do you need to insmod?)", "the kernel lacks a table of iptables",
        "modprobe iptable_nat iptable_filter; echo iptable_nat > /etc/modules-load.d/iptables.conf; or use "
        "a newer release of the network plugin, with nftables"},
    KnownLine{"pod cidr not assigned", "the node has no range of pod addresses",
              "kubectl get node -o jsonpath='{.items[*].spec.podCIDR}'; kube-controller-manager needs "
              "--allocate-node-cidrs=true and a --cluster-cidr that is large enough for another node"},
    KnownLine{"unable to signal init: permission denied",
              "AppArmor does not let the container runtime signal the container",
              "upgrade containerd (its profile allows runc since 1.7.21 and 2.0), or: apparmor_parser -R "
              "/etc/apparmor.d/runc; then delete the pod"},
    KnownLine{"resolv.conf: no such file or directory", "the kubelet's resolv.conf does not exist",
              "set resolvConf: in /var/lib/kubelet/config.yaml to a file that exists (/etc/resolv.conf, or "
              "start systemd-resolved), then: systemctl restart kubelet"},
    KnownLine{
        "failed to check br_netfilter", "the module br_netfilter is not loaded",
        "modprobe br_netfilter; echo br_netfilter > /etc/modules-load.d/br_netfilter.conf; if there is no "
        "such module: install the kernel's extra modules"},
    KnownLine{"bridge-nf-call-iptables", "the module br_netfilter is not loaded",
              "modprobe br_netfilter; echo br_netfilter > /etc/modules-load.d/br_netfilter.conf"},
    KnownLine{"nf_conntrack_max: no such file", "the module nf_conntrack is not loaded",
              "modprobe nf_conntrack; echo nf_conntrack > /etc/modules-load.d/nf_conntrack.conf"},
    KnownLine{"no help topic for",
              "a CDI specification names a hook that the installed nvidia-cdi-hook does not have",
              "upgrade the NVIDIA Container Toolkit on the node to the version that wrote the specification"},
    KnownLine{"unresolvable cdi devices k8s.gpu.nvidia.com",
              "the container runtime does not find the CDI specification of NVIDIA's DRA driver",
              "enable CDI in the runtime, with /var/run/cdi among its folders (containerd: enable_cdi and "
              "cdi_spec_dirs), and read the log of the DRA driver's kubelet plugin on the node"},
    KnownLine{"unresolvable cdi devices", "no CDI specification has the device that the pod gets",
              "nvidia-ctk cdi list on the node; nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml"},
    KnownLine{"driver/library version mismatch",
              "the driver's libraries and its kernel module have different versions",
              "reboot the node, or reload the nvidia modules"},
    KnownLine{"not supported as upperdir", "overlay file systems do not work on the file system of images",
              "mount ext4 or XFS on the folder of images"}};

}  // namespace

std::span<const KnownLine> common_lines() {
  return common;
}
std::span<const KnownLine> kubelet_lines() {
  return of_kubelet;
}
std::span<const KnownLine> unit_lines() {
  return of_units;
}
std::span<const KnownLine> plugin_lines() {
  return of_plugins;
}
std::span<const KnownLine> pod_lines() {
  return of_pods;
}

}  // namespace checks
