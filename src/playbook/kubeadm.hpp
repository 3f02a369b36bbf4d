#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>

namespace playbook {

/// The node's name: the cluster file's for a single host, else the host's own hostname in lower case.
[[nodiscard]] std::string node_name(const Context& context);
/// The address the API server announces: the cluster file's, else that of the default route.
[[nodiscard]] std::string advertise_address(const Context& context);
/// What kubeadm is told as criSocket: a bare path before 1.24, a URL from then on (CHANGELOG-1.24, urgent
/// upgrade notes).
[[nodiscard]] std::string cri_socket(const Context& context);
/// kubeadm.k8s.io API version that this kubeadm writes (kubernetes/kubernetes
/// cmd/kubeadm/app/util/config/common.go).
[[nodiscard]] std::string kubeadm_api(const base::Version& kubernetes);
/// "systemd", or "cgroupfs" where the host has no systemd.
[[nodiscard]] std::string cgroup_driver(const Context& context);

/// JoinConfiguration without what is secret: a step adds discovery and controlPlane.
[[nodiscard]] std::string join_configuration(const Context& context);

[[nodiscard]] Result<std::vector<Composed>> compose_kubeadm_config(const Context& context);

}  // namespace playbook
