#include "playbook/kubeadm.hpp"

#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/engines.hpp"

#include "playbook/hardening.hpp"
#include "playbook/kubeadm_args.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using base::Tree;
using base::Version;

Tree gates_tree(const std::map<std::string, bool>& gates) {
  Tree tree = Tree::map();
  for (const auto& [name, on] : gates) tree.set(name, on);
  return tree;
}

std::string gates_text(const std::map<std::string, bool>& gates) {
  std::vector<std::string> parts;
  for (const auto& [name, on] : gates) parts.push_back(fmt::format("{}={}", name, on));
  return base::join(parts, ",");
}

/// NodeSwap is a gate that must be set from 1.22 to 1.29; from 1.30 it is on (KEP-2400).
std::map<std::string, bool> feature_gates(const Context& context) {
  std::map<std::string, bool> gates = context.cluster.feature_gates;
  const bool swap = context.cluster.swap == spec::Swap::limited;
  if (swap && context.kubernetes >= Version{1, 22, 0} && context.kubernetes < Version{1, 30, 0})
    gates.emplace("NodeSwap", true);
  return gates;
}

Tree node_registration(const Context& context, const std::string& api) {
  Tree registration = Tree::map_of({{"name", node_name(context)}, {"criSocket", cri_socket(context)}});
  std::map<std::string, std::string> args;
  for (const std::string& arg : context.cluster.kubelet_extra_args) {
    const std::size_t equals = arg.find('=');
    const std::string name =
        arg.substr(arg.find_first_not_of('-'),
                   equals == std::string::npos ? equals : equals - arg.find_first_not_of('-'));
    args[name] = equals == std::string::npos ? "true" : arg.substr(equals + 1);
  }
  if (!args.empty()) registration.set("kubeletExtraArgs", extra_args({args.begin(), args.end()}, api));
  return registration;
}

Tree init_configuration(const Context& context, const std::string& api) {
  return Tree::map_of({{"apiVersion", "kubeadm.k8s.io/" + api},
                       {"kind", "InitConfiguration"},
                       {"localAPIEndpoint",
                        Tree::map_of({{"advertiseAddress", advertise_address(context)}, {"bindPort", 6443}})},
                       {"nodeRegistration", node_registration(context, api)}});
}

Result<Tree> cluster_configuration(const Context& context, const std::string& api) {
  const spec::Cluster& cluster = context.cluster;
  Tree tree = Tree::map_of({{"apiVersion", "kubeadm.k8s.io/" + api},
                            {"kind", "ClusterConfiguration"},
                            {"clusterName", cluster.name},
                            {"kubernetesVersion", "v" + context.kubernetes.text()},
                            {"networking", Tree::map_of({{"podSubnet", cluster.network.pod_cidr},
                                                         {"serviceSubnet", cluster.network.service_cidr},
                                                         {"dnsDomain", cluster.network.dns_domain}})}});
  if (!cluster.control_plane.endpoint.empty())
    tree.set("controlPlaneEndpoint", cluster.control_plane.endpoint);
  if (!cluster.kubernetes.image_repository.empty())
    tree.set("imageRepository", cluster.kubernetes.image_repository);
  const bool hardened = is_hardened(context);
  const auto set_arguments = [&](const char* component, const Arguments& of_profile) {
    Arguments all;
    if (!cluster.feature_gates.empty()) all.emplace_back("feature-gates", gates_text(cluster.feature_gates));
    if (hardened) all.insert(all.end(), of_profile.begin(), of_profile.end());
    if (!all.empty()) tree.set(component, Tree::map_of({{"extraArgs", extra_args(all, api)}}));
  };
  set_arguments("apiServer", hardened_api_server(context.kubernetes));
  set_arguments("controllerManager", hardened_controller_manager());
  set_arguments("scheduler", hardened_scheduler());
  if (hardened) {
    tree["apiServer"].set("extraVolumes", hardened_volumes());
    tree.set("etcd",
             Tree::map_of({{"local", Tree::map_of({{"dataDir", "/var/lib/etcd"},
                                                   {"extraArgs", extra_args(hardened_etcd(), api)}})}}));
  }
  TRY(merge_cluster_configuration(tree, cluster.patches.cluster_configuration, api));
  return tree;
}

Tree kubelet_configuration(const Context& context) {
  const spec::Cluster& cluster = context.cluster;
  Tree tree = Tree::map_of({{"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                            {"kind", "KubeletConfiguration"},
                            {"cgroupDriver", cgroup_driver(context)}});
  if (is_hardened(context)) tree.merge(hardened_kubelet(context.kubernetes));
  if (cluster.swap != spec::Swap::off) tree.set("failSwapOn", false);
  if (cluster.swap == spec::Swap::limited && context.kubernetes >= Version{1, 22, 0})
    tree.set("memorySwap", Tree::map_of({{"swapBehavior", "LimitedSwap"}}));
  if (const auto gates = feature_gates(context); !gates.empty()) tree.set("featureGates", gates_tree(gates));
  tree.merge(cluster.patches.kubelet.is_map() ? cluster.patches.kubelet : Tree::map());
  return tree;
}

Tree kube_proxy_configuration(const Context& context) {
  Tree tree =
      Tree::map_of({{"apiVersion", "kubeproxy.config.k8s.io/v1alpha1"}, {"kind", "KubeProxyConfiguration"}});
  if (is_hardened(context)) tree.merge(hardened_kube_proxy());
  tree.merge(context.cluster.patches.kube_proxy.is_map() ? context.cluster.patches.kube_proxy : Tree::map());
  return tree;
}

}  // namespace

std::string node_name(const Context& context) {
  if (!context.cluster.kubernetes.node_name.empty() && context.cluster.hosts.size() == 1)
    return context.cluster.kubernetes.node_name;
  // A node keeps the name that it joined with, even if its host's name changes.
  if (context.facts.kubernetes.kubelet_conf)
    for (const std::string_view word : base::words(context.facts.kubernetes.kubelet_flags))
      if (constexpr std::string_view flag = "--hostname-override=";
          word.starts_with(flag) && base::is_dns_name(word.substr(flag.size())))
        return std::string(word.substr(flag.size()));
  return base::lower(context.facts.machine.hostname);
}

std::string advertise_address(const Context& context) {
  return context.cluster.control_plane.advertise_address.empty()
             ? context.facts.network.default_address
             : context.cluster.control_plane.advertise_address;
}

std::string cri_socket(const Context& context) {
  const bool docker = context.cluster.runtime.engine == spec::Engine::docker;
  if (docker && context.kubernetes < Version{1, 24, 0}) return "/var/run/dockershim.sock";
  const std::string path(spec::row_of(context.cluster.runtime.engine).socket);
  return context.kubernetes < Version{1, 24, 0} ? path : "unix://" + path;
}

std::string kubeadm_api(const Version& kubernetes) {
  if (kubernetes < Version{1, 22, 0}) return "v1beta2";
  if (kubernetes < Version{1, 31, 0}) return "v1beta3";
  return "v1beta4";
}

std::string cgroup_driver(const Context& context) {
  if (const Tree* asked = context.cluster.patches.kubelet.find("cgroupDriver")) return asked->text();

  return context.facts.os.init == "systemd" ? "systemd" : "cgroupfs";
}

PauseImage pause_image(const Context& context) {
  if (context.bundle)
    for (const bundle::BundleFile& file : context.bundle->files)
      if (file.kind == bundle::BundleKind::image && file.name.find("/pause:") != std::string::npos)
        return {file.name, ImageSource::bundle};
  PauseImage pause{facts::listed_image(context.facts.kubernetes, "pause", context.kubernetes),
                   ImageSource::kubeadm};
  if (pause.name.empty())
    pause = {context.catalog.find("pause_image", context.kubernetes).value_or(""), ImageSource::table};
  // As kubeadm does it: cmd/kubeadm/app/images/images.go, GetPauseImage.
  const std::string& repository = context.cluster.kubernetes.image_repository;
  if (!repository.empty() && !pause.name.empty())
    pause.name = repository + pause.name.substr(pause.name.rfind('/'));
  return pause;
}

std::string join_configuration(const Context& context) {
  const std::string api = kubeadm_api(context.kubernetes);
  return base::yaml::write(Tree::map_of({{"apiVersion", "kubeadm.k8s.io/" + api},
                                         {"kind", "JoinConfiguration"},
                                         {"nodeRegistration", node_registration(context, api)}}));
}

Result<std::vector<Composed>> compose_kubeadm_config(const Context& context) {
  if (advertise_address(context).empty())
    return base::fail(base::Fault::spec,
                      fmt::format("{}: no address for the API server was found", context.host.name),
                      "set controlPlane.advertiseAddress in the cluster file");
  const std::string api = kubeadm_api(context.kubernetes);
  // The comment is in the first document: kubeadm rejects one without other content.
  const std::string text = "# Written by gpuadm from the cluster file and the facts of this host.\n" +
                           base::yaml::write(init_configuration(context, api)) + "---\n" +
                           base::yaml::write(TRY(cluster_configuration(context, api))) + "---\n" +
                           base::yaml::write(kubelet_configuration(context)) + "---\n" +
                           base::yaml::write(kube_proxy_configuration(context));
  return std::vector{Composed{"", text, std::nullopt}};
}

}  // namespace playbook
