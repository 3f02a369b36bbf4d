#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include "playbook/kubeadm_args.hpp"

/// `security.profile: hardened`: requirements of the CIS Kubernetes Benchmark (v1.12) and of the guide of NSA
/// and CISA that kubeadm's defaults do not meet. Each setting has the benchmark's number.
namespace playbook {

/// Files that the API server reads from its host, on every control-plane node.
constexpr std::string_view hardening_folder = "/etc/kubernetes/gpuadm/apiserver";

[[nodiscard]] bool is_hardened(const Context& context);

/// Arguments of the components, and volumes of the API server.
[[nodiscard]] Arguments hardened_api_server(const base::Version& kubernetes);
[[nodiscard]] Arguments hardened_controller_manager();
[[nodiscard]] Arguments hardened_scheduler();
[[nodiscard]] Arguments hardened_etcd();
[[nodiscard]] base::Tree hardened_volumes();
/// Keys of KubeletConfiguration and of KubeProxyConfiguration.
[[nodiscard]] base::Tree hardened_kubelet(const base::Version& kubernetes);
[[nodiscard]] base::Tree hardened_kube_proxy();

/// The AdmissionConfiguration: rate limits for events, and since 1.23 Pod Security: baseline is enforced
/// outside of system namespaces.
[[nodiscard]] Result<std::vector<Composed>> compose_admission(const Context& context);
/// The AuthenticationConfiguration: anonymous access only for kubeadm, probes and joining nodes.
[[nodiscard]] Result<std::vector<Composed>> compose_authentication(const Context& context);
/// Whether this Kubernetes can limit anonymous requests to paths: since 1.32
/// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/,
/// AnonymousAuthConfigurableEndpoints).
[[nodiscard]] bool limits_anonymous(const base::Version& kubernetes);

/// Lines "NODE ADDRESS...": the allowed subjects of a node's serving certificate, as reported by each host;
/// addresses in openssl's notation.
[[nodiscard]] std::string node_addresses(const Context& context);

}  // namespace playbook
