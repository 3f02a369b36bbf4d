#include "gpuadm/base/toml.hpp"

#include "playbook/kubeadm.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using base::Tree;
using Path = std::vector<std::string>;

const std::string config_path = "/etc/containerd/config.toml";

/// Where containerd keeps a setting, by the version of its configuration file (containerd docs/PLUGINS.md and
/// docs/cri/config.md of the respective release).
struct Layout {
  Path runtimes, sandbox_image, cni;
};

Layout layout_of(std::int64_t version) {
  if (version >= 3)
    return {{"plugins", "io.containerd.cri.v1.runtime", "containerd", "runtimes"},
            {"plugins", "io.containerd.cri.v1.images", "pinned_images", "sandbox"},
            {"plugins", "io.containerd.cri.v1.runtime", "cni"}};
  const std::string cri = version == 2 ? "io.containerd.grpc.v1.cri" : "cri";
  return {
      {"plugins", cri, "containerd", "runtimes"}, {"plugins", cri, "sandbox_image"}, {"plugins", cri, "cni"}};
}

Path operator/(Path path, const std::string& key) {
  path.push_back(key);
  return path;
}

class Surgery {
 public:
  Surgery(Tree tree, std::string text) : tree_(std::move(tree)), text_(std::move(text)) {}
  /// Wants a value; nothing is done where it stands already.
  void want(Path path, Tree value) {
    const Tree* there = tree_.at(path);
    if (!there || *there != value) wanted_.push_back({std::move(path), std::move(value)});
  }
  /// Wants some value; what the operator chose stays.
  void want_some(Path path, Tree value) {
    if (!tree_.at(path)) wanted_.push_back({std::move(path), std::move(value)});
  }
  [[nodiscard]] Result<std::string> done(std::string_view source) const {
    return base::toml::set(text_, wanted_, source);
  }
  [[nodiscard]] const Tree& tree() const { return tree_; }

 private:
  Tree tree_;
  std::string text_;
  std::vector<base::toml::Assignment> wanted_;
};

void flatten(const Tree& tree, const Path& path, Surgery& surgery) {
  if (!tree.is_map()) return surgery.want(path, tree);
  for (const auto& [key, value] : tree.entries()) flatten(value, path / key, surgery);
}

bool names_cri(const std::string& plugin) {
  return plugin.ends_with("cri") || plugin.find(".cri.v1") != std::string::npos;
}

/// A file in the old version 1 form can be called version 2 or 3 where nothing in it would mean something
/// else: it has no plugin table, and disables no plugin but CRI by a short name, which newer versions refuse.
bool can_become_newer(const Tree& tree) {
  if (tree.find("plugins") || tree.find("required_plugins")) return false;
  const Tree* disabled = tree.find("disabled_plugins");
  return !disabled || std::ranges::all_of(disabled->items(), [](const Tree& plugin) {
    return names_cri(plugin.text()) || plugin.text().find('.') != std::string::npos;
  });
}

/// CRI is no longer disabled, by whichever of its names.
void enable_cri(Surgery& surgery) {
  const Tree* disabled = surgery.tree().find("disabled_plugins");
  if (!disabled || !disabled->is_list()) return;
  Tree rest = Tree::list();
  for (const Tree& plugin : disabled->items())
    if (!names_cri(plugin.text())) rest.push(plugin);
  surgery.want({"disabled_plugins"}, rest);
}

/// flannel puts its binary into /opt/cni/bin, where gpuadm makes the others reachable too. That is
/// containerd's own default; Debian's builds have another up to 1.x.
void use_opt_cni(Surgery& surgery, const Layout& layout, const base::Version& engine) {
  const std::string folder = "/opt/cni/bin";
  const Tree* several = surgery.tree().at(layout.cni / "bin_dirs");
  if (several &&
      std::ranges::none_of(several->items(), [&](const Tree& item) { return item.text() == folder; })) {
    Tree more = *several;
    more.push(folder);
    surgery.want(layout.cni / "bin_dirs", more);
  }
  if (engine < base::Version{2, 0, 0} || surgery.tree().at(layout.cni / "bin_dir"))
    surgery.want(layout.cni / "bin_dir", folder);
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<std::string> compose_containerd_config(const Context& context) {
  const facts::Containerd containerd = context.facts.containerd.value_or(facts::Containerd{});
  const auto engine = base::Version::parse(containerd.version).value_or(base::Version{1, 6, 0});
  const std::string text = containerd.config.value_or("");
  const std::string source = context.host.name + ":" + config_path;
  auto tree = base::toml::read(text, source);
  if (!tree)
    return base::fail(
        tree.error().fault, tree.error().what,
        "mend or move the file, then run again: gpuadm does not write over what it cannot read");

  const Tree* written = tree->find("version");
  std::int64_t version = written ? written->as_int().value_or(1) : 1;
  Surgery surgery(*tree, text);
  if (version < 2 && can_become_newer(*tree)) {
    version = engine >= base::Version{2, 0, 0} ? 3 : 2;
    surgery.want({"version"}, version);
  }
  const Layout layout = layout_of(version);
  enable_cri(surgery);
  surgery.want_some(layout.runtimes / "runc" / "runtime_type", "io.containerd.runc.v2");
  surgery.want(layout.runtimes / "runc" / "options" / "SystemdCgroup", cgroup_driver(context) == "systemd");
  if (const std::string pause = pause_image(context); !pause.empty())
    surgery.want(layout.sandbox_image, pause);
  if (context.cluster.network.plugin != spec::NetworkPlugin::none) use_opt_cni(surgery, layout, engine);
  if (has(context.facts.tools, "nvidia-container-runtime")) {
    surgery.want_some(layout.runtimes / "nvidia" / "runtime_type", "io.containerd.runc.v2");
    surgery.want_some(layout.runtimes / "nvidia" / "options" / "BinaryName",
                      "/usr/bin/nvidia-container-runtime");
    surgery.want(layout.runtimes / "nvidia" / "options" / "SystemdCgroup",
                 cgroup_driver(context) == "systemd");
  }
  if (context.cluster.patches.runtime.is_map()) flatten(context.cluster.patches.runtime, {}, surgery);
  return surgery.done(source);
}

}  // namespace playbook
