#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/gpu_nodes.hpp"
#include "playbook/manifest.hpp"

#include <fmt/format.h>

/// NVIDIA's device plugin: equivalent to its chart (k8s-device-plugin deployments/helm), for one layout of
/// GPUs at a time.
namespace playbook {

namespace {

using base::Tree;
using manifest::env;
using manifest::host_path;
using manifest::mount;
using spec::GpuLayout;
using spec::Sharing;

constexpr const char* plugin = "nvidia-device-plugin";
constexpr const char* ns = "kube-system";

bool is_mig(const GpuLayout& layout) {
  return !layout.mig.devices.empty();
}

/// The plugin's configuration: api/config/v1 of k8s-device-plugin.
Tree configuration(const Context& context, const GpuLayout& layout) {
  const bool cdi = context.cluster.gpu.strategy == spec::DeviceStrategy::cdi;
  const char* mig = !is_mig(layout)                                    ? "none"
                    : layout.mig.strategy == spec::MigStrategy::single ? "single"
                                                                       : "mixed";
  // If the driver of a node fails, its other pods keep running: the plugin then advertises nothing.
  Tree flags = Tree::map_of({{"migStrategy", mig}, {"failOnInitError", false}});
  flags.set("plugin", Tree::map_of({{"deviceListStrategy", Tree::list_of({cdi ? "cdi-cri" : "envvar"})},
                                    {"deviceIDStrategy", "uuid"}}));
  Tree tree = Tree::map_of({{"version", "v1"}, {"flags", flags}});
  if (layout.sharing.sharing == Sharing::exclusive) return tree;
  Tree resources = Tree::list();
  for (const std::string& resource : resources_of(layout))
    resources.push(Tree::map_of({{"name", resource}, {"replicas", layout.sharing.replicas}}));
  const char* way = layout.sharing.sharing == Sharing::mps ? "mps" : "timeSlicing";
  tree.set("sharing", Tree::map_of({{way, Tree::map_of({{"resources", resources}})}}));
  return tree;
}

/// The names of one layout's objects.
struct Names {
  std::string layout, config, plugin, daemon;
};

Names names_of(const GpuLayout& layout) {
  const std::string name = name_of(layout);
  const std::string tail = name == "exclusive" ? "" : "-" + name;
  return {name, plugin + std::string("-config-") + name, plugin + tail,
          std::string("nvidia-mps-control-daemon") + tail};
}

Tree labels(const std::string& name, const std::string& layout) {
  return Tree::map_of({{"app.kubernetes.io/name", name}, {"app.kubernetes.io/instance", layout}});
}

Tree metadata(const std::string& object, const std::string& name, const std::string& layout) {
  Tree all = labels(name, layout);
  all.set("app.kubernetes.io/managed-by", "gpuadm");
  return Tree::map_of({{"name", object}, {"namespace", ns}, {"labels", all}});
}

/// A DaemonSet on the nodes with this layout; its pods restart when the configuration changes.
Tree daemon_set(const Context& context, const std::string& object, const std::string& name,
                const Names& names, Tree pod, const std::string& config) {
  pod.set("priorityClassName", "system-node-critical");
  if (has_runtime_classes(context)) pod.set("runtimeClassName", "nvidia");
  pod.set("nodeSelector", Tree::map_of({{"kubernetes.io/os", "linux"},
                                        {"nvidia.com/gpu.present", Tree("true")},
                                        {layout_label, names.layout}}));
  Tree tolerations = Tree::list();
  tolerations.push(
      Tree::map_of({{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}));
  pod.set("tolerations", tolerations);
  const Tree meta = Tree::map_of(
      {{"labels", labels(name, names.layout)},
       {"annotations", Tree::map_of({{"gpuadm.io/configuration", base::sha256(config).substr(0, 16)}})}});
  return Tree::map_of(
      {{"apiVersion", "apps/v1"},
       {"kind", "DaemonSet"},
       {"metadata", metadata(object, name, names.layout)},
       {"spec", Tree::map_of({{"selector", Tree::map_of({{"matchLabels", labels(name, names.layout)}})},
                              {"updateStrategy", Tree::map_of({{"type", "RollingUpdate"}})},
                              {"template", Tree::map_of({{"metadata", meta}, {"spec", pod}})}})}});
}

Tree environment(const GpuLayout& layout) {
  Tree list = Tree::list();
  list.push(env("CONFIG_FILE", "/config/config.yaml"));
  // NVIDIA's runtime gives the container these GPUs; "void" is none.
  list.push(env("NVIDIA_VISIBLE_DEVICES", !layout.visible           ? "all"
                                          : layout.visible->empty() ? "void"
                                                                    : base::join(*layout.visible, ",")));
  list.push(env("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"));
  if (is_mig(layout)) list.push(env("NVIDIA_MIG_MONITOR_DEVICES", "all"));
  return list;
}

/// The plugin queries the driver; MIG devices require SYS_ADMIN (the chart's requiresCapSysAdmin).
Tree security(const GpuLayout& layout) {
  if (is_mig(layout))
    return Tree::map_of({{"capabilities", Tree::map_of({{"add", Tree::list_of({"SYS_ADMIN"})}})}});
  return Tree::map_of({{"allowPrivilegeEscalation", false},
                       {"capabilities", Tree::map_of({{"drop", Tree::list_of({"ALL"})}})}});
}

void add_mps(Tree& volumes, Tree& mounts) {
  volumes.push(host_path("mps-root", "/run/nvidia/mps", "DirectoryOrCreate"));
  volumes.push(host_path("mps-shm", "/run/nvidia/mps/shm", ""));
  mounts.push(mount("mps-root", "/mps"));
  mounts.push(mount("mps-shm", "/dev/shm"));
}

Tree config_volume(const Names& names) {
  return Tree::map_of({{"name", "config"}, {"configMap", Tree::map_of({{"name", names.config}})}});
}

Tree plugin_pod(const Context& context, const GpuLayout& layout, const Names& names,
                const std::string& image) {
  Tree volumes = Tree::list(), mounts = Tree::list(), variables = environment(layout);
  volumes.push(host_path("device-plugins", "/var/lib/kubelet/device-plugins", "Directory"));
  mounts.push(mount("device-plugins", "/var/lib/kubelet/device-plugins"));
  volumes.push(config_volume(names));
  mounts.push(mount("config", "/config"));
  if (layout.sharing.sharing == Sharing::mps) {
    variables.push(env("MPS_ROOT", "/run/nvidia/mps"));
    add_mps(volumes, mounts);
  }
  if (context.cluster.gpu.strategy == spec::DeviceStrategy::cdi) {
    variables.push(env("NVIDIA_DRIVER_ROOT", "/"));
    volumes.push(host_path("cdi-root", "/var/run/cdi", "DirectoryOrCreate"));
    volumes.push(host_path("driver-root", "/", "Directory"));
    mounts.push(mount("cdi-root", "/var/run/cdi"));
    Tree root = mount("driver-root", "/driver-root");
    root.set("readOnly", true);
    mounts.push(root);
  }
  Tree containers = Tree::list();
  containers.push(Tree::map_of({{"name", plugin},
                                {"image", image},
                                {"env", variables},
                                {"securityContext", security(layout)},
                                {"volumeMounts", mounts}}));
  return Tree::map_of({{"containers", containers}, {"volumes", volumes}});
}

/// The plugin starts MPS's control daemon without a PATH (k8s-device-plugin
/// cmd/mps-control-daemon/mps/daemon.go), which then searches the server only in /bin and /usr/bin.
constexpr const char* start_mps =
    "server=$(command -v nvidia-cuda-mps-server) && [ ! -e /usr/bin/nvidia-cuda-mps-server ] && "
    "ln -s \"$server\" /usr/bin/nvidia-cuda-mps-server; exec mps-control-daemon";

/// The MPS server of each GPU; it is part of the driver.
Tree mps_pod(const GpuLayout& layout, const Names& names, const std::string& image) {
  const Tree privileged = Tree::map_of({{"privileged", true}});
  Tree root = mount("mps-root", "/mps");
  root.set("mountPropagation", "Bidirectional");
  Tree root_only = Tree::list();
  root_only.push(root);
  Tree first = Tree::list();
  first.push(Tree::map_of({{"name", "mount-shm"},
                           {"image", image},
                           {"command", Tree::list_of({"mps-control-daemon", "mount-shm"})},
                           {"securityContext", privileged},
                           {"volumeMounts", root_only}}));
  Tree variables = environment(layout);
  variables.push(Tree::map_of(
      {{"name", "NODE_NAME"},
       {"valueFrom", Tree::map_of({{"fieldRef", Tree::map_of({{"fieldPath", "spec.nodeName"}})}})}}));
  Tree volumes = Tree::list(), mounts = Tree::list();
  add_mps(volumes, mounts);
  volumes.push(config_volume(names));
  mounts.push(mount("config", "/config"));
  Tree containers = Tree::list();
  containers.push(Tree::map_of({{"name", "mps-control-daemon"},
                                {"image", image},
                                {"command", Tree::list_of({"sh", "-c", start_mps})},
                                {"env", variables},
                                {"securityContext", privileged},
                                {"volumeMounts", mounts}}));
  // The server identifies itself by its host process id (the chart's mps.enableHostPID).
  return Tree::map_of(
      {{"hostPID", true}, {"initContainers", first}, {"containers", containers}, {"volumes", volumes}});
}

}  // namespace

Result<std::vector<Composed>> compose_device_plugin(const Context& context) {
  const auto image = image_named(context, "device_plugin_image");
  if (!image) return base::fail(base::Fault::bug, "playbooks/catalog.yaml has no device_plugin_image");
  std::string text =
      "# Written by gpuadm. Advertises the GPUs to the kubelets: one DaemonSet for each way "
      "to share them.\n";
  bool first = true;
  const auto add = [&](const Tree& document) {
    text += (first ? "" : "---\n") + base::yaml::write(document);
    first = false;
  };
  for (const GpuLayout& layout : layouts(context)) {
    const Names names = names_of(layout);
    const std::string config = base::yaml::write(configuration(context, layout));
    add(Tree::map_of({{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", metadata(names.config, plugin, names.layout)},
                      {"data", Tree::map_of({{"config.yaml", config}})}}));
    add(daemon_set(context, names.plugin, plugin, names, plugin_pod(context, layout, names, *image), config));
    if (layout.sharing.sharing == Sharing::mps)
      add(daemon_set(context, names.daemon, "nvidia-mps-control-daemon", names,
                     mps_pod(layout, names, *image), config));
  }
  return std::vector{Composed{"", text, std::nullopt}};
}

}  // namespace playbook
