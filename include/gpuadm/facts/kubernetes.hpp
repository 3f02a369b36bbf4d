#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/facts/hardening.hpp"
#include "gpuadm/facts/pods.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// A certificate and the times between which it is valid, in seconds since 1970.
struct Certificate {
  std::string path;
  double ends = 0;
  std::optional<double> begins;  ///< nothing: kubeadm, which prints only the end, was asked
};

/// A component of the control plane, queried on its own machine.
struct Component {
  std::string name;  ///< "kube-apiserver", "etcd"
  int status = 0;    ///< 0: it responds
  std::string message;
};

/// Kubernetes on this host: its programs, files and state.
struct Kubernetes {
  std::optional<std::string> kubeadm, kubelet, kubectl;  ///< versions, "v1.20.2"
  /// The output of `kubeadm config images list` for kubeadm's own version; empty: not read.
  std::vector<std::string> images;
  bool admin_conf = false;    ///< /etc/kubernetes/admin.conf
  bool kubelet_conf = false;  ///< /etc/kubernetes/kubelet.conf
  std::vector<std::string> manifests, cni_configs, cni_binaries;
  bool etcd_data = false;                    ///< /var/lib/etcd is not empty
  bool bootstrap_conf = false, ca = false;   ///< bootstrap-kubelet.conf, pki/ca.crt
  std::string ca_sha256;                     ///< of pki/ca.crt; empty: not read
  std::string admin_server, kubelet_server;  ///< `server:` of the two kubeconfigs
  std::string cluster_name, node_name;       ///< of the kubeconfigs' `current-context`; empty: not set
  std::optional<base::Tree> kubelet_config;  ///< /var/lib/kubelet/config.yaml, if it is valid
  std::string kubelet_config_error;
  std::string kubelet_flags;                               ///< KUBELET_KUBEADM_ARGS and KUBELET_EXTRA_ARGS
  std::optional<std::vector<std::string>> device_plugins;  ///< names in /var/lib/kubelet/device-plugins
  std::optional<std::vector<Certificate>> certificates;
  std::optional<std::vector<Component>> components;    ///< only if the probe was asked for them
  std::vector<std::string> kubelet_log;                ///< last lines, if the kubelet is not running
  std::optional<std::string> cpu_state, memory_state;  ///< policies in the kubelet's checkpoint files
  std::optional<bool> shared_mount;                    ///< /var/lib/kubelet is on a shared mount
  Hardening hardening;
  std::optional<PodStates> pod_states;            ///< only of a node, and only if requested
  std::optional<double> etcd_fsync, etcd_commit;  ///< seconds, 99th percentile, since etcd started
  std::optional<std::string> proxy_mode;          ///< as reported by the running kube-proxy
};

/// The image with this name in kubeadm's list, "pause"; empty if the list was not read or is of another
/// version. A version without a patch matches all of its patches.
[[nodiscard]] std::string listed_image(const Kubernetes& tools, std::string_view name,
                                       const base::Version& kubernetes);

}  // namespace facts
