#include "checks/check.hpp"

#include <algorithm>

namespace checks {

/// The rows of an area, from the file of that area.
using Area = std::span<const Check>();
Area reason_checks, gpu_present_checks, access_checks, host_checks, identity_checks, disk_checks,
    support_checks, package_checks, unit_checks, kernel_checks, feature_checks, limit_checks, platform_checks,
    log_checks, cgroup_checks, security_checks, nftables_checks, protection_checks, network_checks,
    link_checks, rdma_checks, rdma_port_checks, storage_checks, storage_folder_checks, drive_checks,
    runtime_checks, containerd_checks, runtime_settings_checks, kubeadm_checks, address_range_checks,
    join_checks, kubelet_checks, kubelet_state_checks, gpu_binding_checks, driver_checks, gpu_checks,
    gpu_pci_checks, gpu_install_checks, gpu_log_checks, gpu_start_checks, gpu_build_checks, gpu_fabric_checks,
    gpu_nvlink_checks, gpu_memory_checks, gpu_power_checks, gpu_use_checks, gpu_layout_checks, toolkit_checks,
    cdi_checks, cluster_checks, cluster_nodes_checks, cluster_pods_checks, cluster_storage_checks,
    cluster_gpu_checks, cluster_plugin_checks, cluster_gpu_pods_checks, cluster_operator_checks,
    cluster_age_checks, gpu_rack_checks, crio_checks, kubeadm_gate_checks, cis_file_checks,
    cis_api_server_checks, cis_control_plane_checks, cis_node_file_checks, cis_kubelet_checks,
    cis_policy_checks, advisories_checks;

const std::vector<Check>& all_checks() {
  // In the order of the report: the reasons are first, because they contain the causes; then whether there
  // is a GPU at all.
  static const std::vector<Check> all = [] {
    std::vector<Check> rows;
    for (Area* area : {reason_checks,
                       gpu_present_checks,
                       access_checks,
                       host_checks,
                       identity_checks,
                       disk_checks,
                       package_checks,
                       unit_checks,
                       kernel_checks,
                       feature_checks,
                       limit_checks,
                       platform_checks,
                       log_checks,
                       cgroup_checks,
                       security_checks,
                       nftables_checks,
                       protection_checks,
                       network_checks,
                       link_checks,
                       rdma_checks,
                       rdma_port_checks,
                       storage_checks,
                       storage_folder_checks,
                       drive_checks,
                       runtime_checks,
                       containerd_checks,
                       runtime_settings_checks,
                       crio_checks,
                       kubeadm_checks,
                       kubeadm_gate_checks,
                       address_range_checks,
                       join_checks,
                       kubelet_checks,
                       kubelet_state_checks,
                       gpu_binding_checks,
                       driver_checks,
                       gpu_checks,
                       gpu_pci_checks,
                       gpu_build_checks,
                       gpu_install_checks,
                       gpu_start_checks,
                       gpu_log_checks,
                       gpu_fabric_checks,
                       gpu_rack_checks,
                       gpu_nvlink_checks,
                       gpu_memory_checks,
                       gpu_power_checks,
                       gpu_use_checks,
                       gpu_layout_checks,
                       toolkit_checks,
                       cdi_checks,
                       support_checks,
                       advisories_checks,
                       cluster_checks,
                       cluster_nodes_checks,
                       cluster_pods_checks,
                       cluster_storage_checks,
                       cluster_gpu_checks,
                       cluster_plugin_checks,
                       cluster_gpu_pods_checks,
                       cluster_operator_checks,
                       cluster_age_checks,
                       cis_file_checks,
                       cis_api_server_checks,
                       cis_control_plane_checks,
                       cis_node_file_checks,
                       cis_kubelet_checks,
                       cis_policy_checks})
      std::ranges::copy(area(), std::back_inserter(rows));
    return rows;
  }();
  return all;
}

}  // namespace checks
