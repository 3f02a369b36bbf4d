#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include <string>

namespace playbook {

/// The node's name: the cluster file's for a single host, otherwise the host's own host name in lower case.
[[nodiscard]] std::string node_name(const Context& context);
/// The address that the API server advertises: the cluster file's, otherwise that of the default route's
/// interface.
[[nodiscard]] std::string advertise_address(const Context& context);
/// kubeadm's criSocket: a path before 1.24, a URL since then (CHANGELOG-1.24, urgent upgrade notes).
[[nodiscard]] std::string cri_socket(const Context& context);
/// kubeadm.k8s.io API version that this kubeadm writes (kubernetes/kubernetes
/// cmd/kubeadm/app/util/config/common.go).
[[nodiscard]] std::string kubeadm_api(const base::Version& kubernetes);
/// "systemd", or "cgroupfs" if the host has no systemd.
[[nodiscard]] std::string cgroup_driver(const Context& context);

/// JoinConfiguration without secrets: a step adds discovery and controlPlane.
[[nodiscard]] std::string join_configuration(const Context& context);

[[nodiscard]] Result<std::vector<Composed>> compose_kubeadm_config(const Context& context);

}  // namespace playbook
