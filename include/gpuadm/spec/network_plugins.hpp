#pragma once

#include "gpuadm/spec/cluster.hpp"

#include <algorithm>
#include <array>
#include <string_view>

/// The one table of pod networks.
namespace spec {

struct NetworkPluginRow {
  NetworkPlugin plugin;
  std::string_view name;          ///< in the cluster file; the selector of playbooks is network-NAME
  std::string_view message = {};  ///< after the name, in the help
  std::string_view ports = {};    ///< between nodes, for a firewall
  int own_port = 0;               ///< a TCP port of the host that it listens on
  std::string_view process = {};  ///< that listens there
  std::string_view images = {};   ///< keys of the catalog, separated by blanks
  /// Namespace, DaemonSet and label of its pods, as in verify_daemonset of playbooks/verify.sh.
  std::string_view workload = {};
  std::string_view module = {};    ///< a kernel module that it loads
  std::string_view links = {};     ///< of a node, from which packets of pods come, separated by blanks
  bool routed = false;             ///< packets of a node reach pods of other nodes with the node's address
  std::string_view forwards = {};  ///< what makes a host forward packets of pods if the policy is DROP
};

inline constexpr std::array network_plugins = std::to_array<NetworkPluginRow>({
    {.plugin = NetworkPlugin::flannel,
     .name = "flannel",
     .ports = "UDP 8472",
     .own_port = 8081,  // its health; templates/flannel.yaml
     .process = "flanneld",
     .images = "flannel_image flannel_cni_image",
     .workload = "kube-flannel kube-flannel-ds app=flannel",
     .module = "vxlan",
     .links = "cni0 flannel.1",
     .forwards = "flannel adds rules that accept packets of pods"},
    {.plugin = NetworkPlugin::bridge,
     .name = "bridge",
     .message = "the bridge plugins (nodes in one network segment)",
     .links = "cni0",
     .routed = true,
     .forwards = "init adds rules that accept packets of pods"},
    {.plugin = NetworkPlugin::none, .name = "none", .message = "you install your own"},
});

[[nodiscard]] constexpr const NetworkPluginRow& row_of(NetworkPlugin plugin) {
  return *std::ranges::find(network_plugins, plugin, &NetworkPluginRow::plugin);
}

}  // namespace spec
