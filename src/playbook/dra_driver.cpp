#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "playbook/gpu_nodes.hpp"
#include "playbook/manifest.hpp"

#include <algorithm>
#include <cctype>
#include <set>

/// The pods of NVIDIA's DRA driver: equivalent to its chart (dra-driver-nvidia-gpu deployments/helm), for one
/// driver root at a time. Common objects are in templates/dra-driver.yaml.
namespace playbook {

namespace {

using base::Tree;
using manifest::env;
using manifest::host_path;
using manifest::mount;

constexpr const char* driver = "nvidia-dra-driver";
constexpr const char* registry = "/var/lib/kubelet/plugins_registry";
constexpr const char* plugins = "/var/lib/kubelet/plugins";

std::string root_of(const facts::Facts& facts) {
  const facts::DriverRoot* root = driver_root_of(facts.nvidia);
  return root ? root->path : "/";  // where packages install it
}

std::string parent_of(const std::string& root) {
  return root.substr(0, std::max<std::size_t>(1, root.rfind('/')));
}

Tree from_field(const std::string& name, const std::string& path) {
  return Tree::map_of(
      {{"name", name}, {"valueFrom", Tree::map_of({{"fieldRef", Tree::map_of({{"fieldPath", path}})}})}});
}

/// Environment of both containers.
Tree environment(const std::string& root) {
  Tree list = Tree::list();
  list.push(env("NVIDIA_DRIVER_ROOT", root));
  list.push(env("NVIDIA_VISIBLE_DEVICES", "void"));
  list.push(env("KUBELET_REGISTRAR_DIRECTORY_PATH", registry));
  list.push(env("KUBELET_PLUGINS_DIRECTORY_PATH", plugins));
  return list;
}

Tree container(const std::string& name, const std::string& image, std::initializer_list<const char*> command,
               const Tree& variables, const Tree& mounts) {
  Tree words = Tree::list();
  for (const char* word : command) words.push(Tree(word));
  return Tree::map_of({{"name", name},
                       {"image", image},
                       {"command", words},
                       {"env", variables},
                       {"securityContext", Tree::map_of({{"privileged", true}})},
                       {"volumeMounts", mounts}});
}

Tree propagated(const std::string& name, const std::string& path, const char* how) {
  Tree made = mount(name, path);
  made.set("mountPropagation", how);
  return made;
}

/// Waits for the GPU driver, and logs what is missing. It reads the parent of the driver root.
Tree prestart(const std::string& root, const std::string& image) {
  Tree mounts = Tree::list(),
       parent = propagated("driver-root-parent", "/driver-root-parent", "HostToContainer");
  parent.set("readOnly", true);
  mounts.push(parent);
  return container("driver", image, {"bash", "/usr/bin/kubelet-plugin-prestart.sh"}, environment(root),
                   mounts);
}

Tree kubelet_plugin(const std::string& root, const std::string& image) {
  Tree variables = environment(root);
  variables.push(env("NVIDIA_MIG_CONFIG_DEVICES", "all"));
  variables.push(env("CDI_ROOT", "/var/run/cdi"));
  variables.push(env("HEALTHCHECK_PORT", "-1"));
  variables.push(env("IMAGE_NAME", image));
  variables.push(from_field("NODE_NAME", "spec.nodeName"));
  variables.push(from_field("NAMESPACE", "metadata.namespace"));
  variables.push(from_field("SERVICE_ACCOUNT_NAME", "spec.serviceAccountName"));
  Tree mounts = Tree::list();
  mounts.push(mount("registry", registry));
  mounts.push(propagated("plugins", plugins, "Bidirectional"));
  mounts.push(mount("cdi", "/var/run/cdi"));
  mounts.push(propagated("driver-root", "/driver-root", "HostToContainer"));
  return container("gpus", image, {"gpu-kubelet-plugin", "-v", "4"}, variables, mounts);
}

Tree pod_of(const std::string& root, const std::string& label, const std::string& image) {
  Tree volumes = Tree::list(), first = Tree::list(), containers = Tree::list(), tolerations = Tree::list();
  volumes.push(host_path("registry", registry, ""));
  volumes.push(host_path("plugins", plugins, ""));
  volumes.push(host_path("cdi", "/var/run/cdi", "DirectoryOrCreate"));
  volumes.push(host_path("driver-root", root, "Directory"));
  volumes.push(host_path("driver-root-parent", parent_of(root), "Directory"));
  first.push(prestart(root, image));
  containers.push(kubelet_plugin(root, image));
  tolerations.push(
      Tree::map_of({{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}));
  return Tree::map_of(
      {{"priorityClassName", "system-node-critical"},
       {"serviceAccountName", driver},
       {"nodeSelector", Tree::map_of({{"kubernetes.io/os", "linux"}, {driver_root_label, label}})},
       {"tolerations", tolerations},
       {"initContainers", first},
       {"containers", containers},
       {"volumes", volumes}});
}

Tree daemon_set(const std::string& root, const std::string& image) {
  const std::string label = name_of_root(root);
  const Tree labels =
      Tree::map_of({{"app.kubernetes.io/name", driver}, {"app.kubernetes.io/instance", label}});
  Tree own = labels;
  own.set("app.kubernetes.io/managed-by", "gpuadm");
  const Tree pods =
      Tree::map_of({{"metadata", Tree::map_of({{"labels", labels}})}, {"spec", pod_of(root, label, image)}});
  return Tree::map_of(
      {{"apiVersion", "apps/v1"},
       {"kind", "DaemonSet"},
       {"metadata",
        Tree::map_of(
            {{"name", std::string(driver) + "-" + label}, {"namespace", "kube-system"}, {"labels", own}})},
       {"spec", Tree::map_of({{"selector", Tree::map_of({{"matchLabels", labels}})}, {"template", pods}})}});
}

}  // namespace

std::string name_of_root(std::string_view root) {
  std::string name;
  for (const char c : root.substr(std::min<std::size_t>(1, root.size())))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? base::lower(std::string(1, c)) : "-";
  while (name.ends_with('-')) name.pop_back();
  name.resize(std::min<std::size_t>(name.size(), 40));  // of the 63 of a label, with the DaemonSet's name
  return name.empty() ? "root" : name;
}

std::string driver_root_name(const Context& context) {
  return name_of_root(root_of(context.facts));
}

std::string dra_driver_daemonsets(const Context& context) {
  std::set<std::string> roots;
  if (!context.census && has_gpu(context.facts)) roots.insert(root_of(context.facts));
  if (context.census)
    for (const auto& [name, facts] : *context.census)
      if (facts && has_gpu(*facts)) roots.insert(root_of(*facts));
  const std::string image = image_named(context, "dra_driver_image").value_or("");
  std::string text;
  for (const std::string& root : roots) text += "---\n" + base::yaml::write(daemon_set(root, image));
  return text;
}

}  // namespace playbook
