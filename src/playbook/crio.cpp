#include "gpuadm/base/files.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/kubeadm.hpp"
#include "playbook/runtime.hpp"

namespace playbook {

namespace {

using base::Tree;

const std::string drop_in = "/etc/crio/crio.conf.d/99-gpuadm.conf";

Tree runtime_settings(const Context& context) {
  const std::string driver = cgroup_driver(context);
  // crio.conf(5): with cgroupfs the monitor of a container must be in the pod's cgroup.
  Tree runtime = Tree::map_of({{"cgroup_manager", driver}});
  if (driver == "cgroupfs") runtime.set("conmon_cgroup", "pod");
  if (const std::string binary = nvidia_runtime(context); !binary.empty())
    runtime["runtimes"].set("nvidia", Tree::map_of({{"runtime_path", binary}, {"runtime_type", "oci"}}));
  if (defaults_to_nvidia(context))
    runtime.set("default_runtime", "nvidia");
  else if (context.cluster.runtime.default_runtime == spec::DefaultRuntime::runc)
    runtime.set("default_runtime", "runc");
  return runtime;
}

}  // namespace

/// A file of its own, read after every other of its folder: CRI-O lays them over each other key by key
/// (crio.conf.d(5)). The others are read only to refuse what CRI-O would refuse.
Result<std::vector<Composed>> compose_crio_config(const Context& context) {
  const facts::CrioConfig config = context.facts.crio_config.value_or(facts::CrioConfig{});
  for (const auto& [path, text] : config.texts) TRY(base::toml::read(text, context.host.name + ":" + path));
  Tree tree = Tree::map_of({{"crio", Tree::map_of({{"runtime", runtime_settings(context)}})}});
  if (const std::string pause = pause_image(context).name; !pause.empty())
    tree["crio"].set("image", Tree::map_of({{"pause_image", pause}}));
  if (context.cluster.patches.runtime.is_map()) tree.merge(context.cluster.patches.runtime);
  const auto there = config.texts.find(drop_in);
  return std::vector{Composed{drop_in,
                              "# gpuadm's part of CRI-O's configuration.\n" + base::toml::write(tree),
                              there == config.texts.end() ? "absent" : base::sha256(there->second)}};
}

}  // namespace playbook
