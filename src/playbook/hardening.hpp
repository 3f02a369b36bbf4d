#pragma once

#include "gpuadm/playbook/playbook.hpp"

#include "playbook/kubeadm_args.hpp"

/// `security.profile: hardened`: what the CIS Kubernetes Benchmark (v1.12) and the NSA's and CISA's guide ask
/// of a cluster that kubeadm makes, and kubeadm leaves open. Each setting names the benchmark's number.
namespace playbook {

/// What the API server reads from its host, on every control plane.
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

/// The AdmissionConfiguration: rate limits for events, and from 1.23 on Pod Security: baseline is enforced
/// outside of the namespaces of the system.
[[nodiscard]] Result<std::vector<Composed>> compose_admission(const Context& context);
/// The AuthenticationConfiguration: without credentials only what kubeadm, probes and joining nodes ask for.
[[nodiscard]] Result<std::vector<Composed>> compose_authentication(const Context& context);
/// Whether this Kubernetes can limit anonymous requests to paths: from 1.32 on
/// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/,
/// AnonymousAuthConfigurableEndpoints).
[[nodiscard]] bool limits_anonymous(const base::Version& kubernetes);

/// "NODE ADDRESS..." a line: what a node's serving certificate may be for, as each host says itself;
/// addresses as openssl prints them.
[[nodiscard]] std::string node_addresses(const Context& context);

}  // namespace playbook
