#include "gpuadm/base/files.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/kubeadm.hpp"
#include "playbook/runtime.hpp"

namespace playbook {

namespace {

using base::Tree;

const std::string drop_in = "/etc/crio/crio.conf.d/99-gpuadm.conf";

/// The merged settings of the other files; CRI-O reads crio.conf, then the drop-ins by name.
Result<Tree> others(const facts::CrioConfig& config, const std::string& host) {
  Tree all = Tree::map();
  for (const auto& [path, text] : config.texts) {
    const Tree tree = TRY(base::toml::read(text, host + ":" + path));
    if (path != drop_in) all.merge(tree);
  }
  return all;
}

/// The runtime nvidia with the settings of its base runtime, like nvidia-ctk: monitor, root, annotations
/// (NVIDIA/nvidia-container-toolkit, pkg/config/engine/crio).
Tree nvidia_settings(const Tree& there, const std::string& binary) {
  const Tree* runtime = there.at({"crio", "runtime"});
  const Tree* chosen = runtime ? runtime->find("default_runtime") : nullptr;
  const std::string usual = chosen && !chosen->text().starts_with("nvidia") ? chosen->text() : "";
  Tree settings = Tree::map();
  for (const std::string& name : {usual, std::string("runc"), std::string("crun")})
    if (const Tree* like = there.at({"crio", "runtime", "runtimes", name}); like && like->is_map()) {
      settings = *like;
      break;
    }
  if (const Tree* monitor = runtime ? runtime->find("conmon") : nullptr;
      monitor && !monitor->text().empty() && !settings.find("monitor_path"))
    settings.set("monitor_path", *monitor);
  settings.set("runtime_path", binary);
  settings.set("runtime_type", "oci");
  return settings;
}

Tree runtime_settings(const Context& context, const Tree& there) {
  const std::string driver = cgroup_driver(context);
  // crio.conf(5): with cgroupfs the monitor of a container must be in the pod's cgroup.
  Tree runtime = Tree::map_of({{"cgroup_manager", driver}});
  if (driver == "cgroupfs") runtime.set("conmon_cgroup", "pod");
  const std::string binary = nvidia_runtime(context);
  if (!binary.empty() && !there.at({"crio", "runtime", "runtimes", "nvidia"}))
    runtime["runtimes"].set("nvidia", nvidia_settings(there, binary));
  if (defaults_to_nvidia(context))
    runtime.set("default_runtime", "nvidia");
  else if (context.cluster.runtime.default_runtime == spec::DefaultRuntime::runc)
    runtime.set("default_runtime", "runc");
  return runtime;
}

}  // namespace

/// A separate drop-in: CRI-O merges them key by key, by name (crio.conf.d(5)). An existing runtime nvidia is
/// kept.
Result<std::vector<Composed>> compose_crio_config(const Context& context) {
  const facts::CrioConfig config = context.facts.runtime.crio_config.value_or(facts::CrioConfig{});
  const Tree there_already = TRY(others(config, context.host.name));
  Tree tree = Tree::map_of({{"crio", Tree::map_of({{"runtime", runtime_settings(context, there_already)}})}});
  if (const std::string pause = pause_image(context).name; !pause.empty())
    tree["crio"].set("image", Tree::map_of({{"pause_image", pause}}));
  if (context.cluster.patches.runtime.is_map()) tree.merge(context.cluster.patches.runtime);
  const auto there = config.texts.find(drop_in);
  return std::vector{Composed{drop_in,
                              "# gpuadm's part of CRI-O's configuration.\n" + base::toml::write(tree),
                              there == config.texts.end() ? "absent" : base::sha256(there->second)}};
}

}  // namespace playbook
