#include "checks/check.hpp"

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// `effect` failed because `cause` did. Of several causes of one effect the first that failed is named.
struct Cause {
  std::string_view effect, cause;
};

constexpr std::array causes = std::to_array<Cause>({
    {"kernel.sysctl.bridge-nf-call", "kernel.module.br-netfilter"},
    {"net.proxy-covers-cluster-cidr", "host.env.proxy"},
    {"rt.cri.socket", "rt.containerd.config-parses"},
    {"rt.cri.socket", "rt.present"},
    {"rt.cri.v1-api", "rt.containerd.config-parses"},
    {"rt.cri.v1-api", "rt.containerd.disabled-cri"},
    {"kubeadm.manifests-empty", "kubeadm.leftover-config"},
    {"kubeadm.etcd-dir-empty", "kubeadm.leftover-config"},
    {"kubeadm.leftover-cni", "kubeadm.leftover-config"},
    {"kubelet.service-active", "kubelet.config-readable"},
    {"kubelet.service-active", "kubelet.swap-policy"},
    {"kubelet.service-active", "kubelet.unknown-flags"},
    {"kubelet.service-active", "kubelet.feature-gates"},
    {"kubelet.service-active", "kubelet.cgroup-driver-match"},
    {"kubelet.service-active", "kernel.cgroup.version"},
    {"gpu.driver.module-loaded", "gpu.driver.installed"},
    {"gpu.driver.module-loaded", "gpu.driver.nouveau-loaded"},
    {"gpu.driver.module-loaded", "gpu.driver.conflicting-bindings"},
    {"gpu.driver.smi-runs", "gpu.driver.version-mismatch"},
    {"gpu.driver.smi-runs", "gpu.driver.module-flavor"},
    {"gpu.driver.smi-runs", "gpu.driver.arch-supported"},
    {"gpu.driver.smi-runs", "gpu.driver.module-loaded"},
    {"gpu.driver.smi-runs", "gpu.driver.installed"},
    {"gpu.driver.smi-runs", "gpu.driver.libs-present"},
    {"gpu.driver.device-nodes", "gpu.driver.module-loaded"},
    {"gpu.driver.libs-present", "gpu.driver.installed"},
    {"nct.installed", "gpu.driver.installed"},
    {"nct.runtime-registered", "nct.installed"},
});

}  // namespace

std::string cause_of(std::string_view id, std::span<const std::string> failed) {
  for (const Cause& row : causes)
    if (row.effect == id && std::ranges::find(failed, row.cause) != failed.end())
      return std::string(row.cause);
  return {};
}

const std::vector<Check>& all_checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> rows;
    for (const auto area :
         {access_checks, host_checks, identity_checks, disk_checks, package_checks, kernel_checks,
          cgroup_checks, security_checks, network_checks, runtime_checks, containerd_checks, kubeadm_checks,
          kubelet_checks, driver_checks, gpu_checks, toolkit_checks})
      std::ranges::copy(area(), std::back_inserter(rows));
    return rows;
  }();
  return all;
}

}  // namespace checks
