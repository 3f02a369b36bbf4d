#include "playbook/containerd.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/kubeadm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace playbook {

namespace {

using base::Tree;
using Layout = ContainerdLayout;
using Place = Path Layout::*;

bool names_cri(const std::string& plugin) {
  return plugin.ends_with("cri") || plugin.find(".cri.v1") != std::string::npos;
}

/// A version 1 file can be converted to version 2 or 3 if its contents keep their meaning: it has no plugin
/// table, and disables no plugin other than CRI by a short name, which newer versions reject.
bool can_become_newer(const Tree& tree) {
  if (tree.find("plugins") || tree.find("required_plugins")) return false;
  const Tree* disabled = tree.find("disabled_plugins");
  return !disabled || std::ranges::all_of(disabled->items(), [](const Tree& plugin) {
    return names_cri(plugin.text()) || plugin.text().find('.') != std::string::npos;
  });
}

/// Edits config.toml and the files that it imports (decision 7). Since 2.1, gpuadm's settings are in a
/// separate file that is read last; before, where a later file replaces whole tables, in the last file with
/// the table.
class Surgery {
 public:
  Surgery(std::vector<ContainerdPart> parts, const base::Version& engine,
          const std::map<std::string, std::string>& texts)
      : parts_(std::move(parts)), wanted_(parts_.size()), engine_(engine) {
    upgrade();
    if (merges_tables(engine_)) own_ = place_own(texts);
  }

  /// The effective value; nullptr: not set.
  [[nodiscard]] const Tree* find(Place place, const Path& rest) const {
    for (std::size_t i = parts_.size(); i-- > 0;) {
      const Layout layout = containerd_layout(parts_[i].version);
      if (const Tree* found = parts_[i].tree.at(layout.*place / rest)) return found;
      if (!merges_tables(engine_) && parts_[i].tree.at({"plugins", (layout.*place)[1]})) return nullptr;
    }
    return nullptr;
  }
  /// Requests a value; does nothing if it is already effective.
  void want(Place place, const Path& rest, const Tree& value) {
    const Tree* there = find(place, rest);
    if (there && *there == value) return;
    const std::size_t index = own_.value_or(last_that_names(place));
    assign(index, containerd_layout(parts_[index].version).*place / rest, value);
  }
  /// Requests any value; the operator's choice is kept.
  void want_any(Place place, const Path& rest, const Tree& value) {
    if (!find(place, rest)) want(place, rest, value);
  }
  /// Enables CRI, under all its names: the lists of all files are merged.
  void enable_cri() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Tree* disabled = parts_[i].tree.find("disabled_plugins");
      if (!disabled || !disabled->is_list()) continue;
      Tree rest = Tree::list();
      for (const Tree& plugin : disabled->items())
        if (!names_cri(plugin.text())) rest.push(plugin);
      assign(i, {"disabled_plugins"}, rest);
    }
  }
  /// Settings under the names in the operator's files.
  void patch(const Tree& tree, const Path& path) {
    if (tree.is_map() && !(tree.entries().empty() && path.size() > 1)) {
      for (const auto& [key, value] : tree.entries()) patch(value, path / key);
      return;
    }
    std::size_t index = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].tree.at(path.front() == "plugins" && path.size() > 1 ? Path{path[0], path[1]} : path))
        index = i;
    if (own_ && path.front() == "plugins") index = *own_;
    assign(index, path, tree);
  }

  /// containerd 2 reads no plugin table of a version 1 file: gpuadm's settings there would be ignored.
  [[nodiscard]] Result<> is_read(const std::string& host) const {
    if (engine_ < base::Version{2, 0, -1} || parts_.front().version >= 2) return {};
    return base::fail(
        base::Fault::parse,
        fmt::format("{}:{}: version 1 of the configuration, whose plugin tables containerd {} does not read",
                    host, containerd_config_path, engine_.text()),
        "set version = 2, rename plugins.cri to plugins.\"io.containerd.grpc.v1.cri\", then "
        "run again");
  }

  [[nodiscard]] Result<std::vector<Composed>> done(const std::string& host) {
    if (own_ && !wanted_[*own_].empty()) import_own();
    std::vector<Composed> files;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i != 0 && wanted_[i].empty()) continue;
      const ContainerdPart& part = parts_[i];
      const std::string text = part.text.value_or(i == own_ ? begin_own() : "");
      std::string changed = TRY(base::toml::set(text, wanted_[i], host + ":" + part.path));
      files.push_back({part.path, std::move(changed), part.text ? base::sha256(*part.text) : "absent"});
    }
    // While the files are written one by one, each intermediate state must be valid for containerd.
    if (files.size() > 1 && !own_is_read_) std::ranges::rotate(files, files.begin() + 1);
    return files;
  }

 private:
  ContainerdPart& root() { return parts_.front(); }

  void assign(std::size_t index, const Path& path, const Tree& value) {
    Tree* here = &parts_[index].tree;
    for (const std::string& key : path) here = &(*here)[key];
    if (*here == value) return;
    *here = value;
    wanted_[index].push_back({path, value});
  }

  void upgrade() {
    if (root().version >= 2 || parts_.size() > 1 || !can_become_newer(root().tree)) return;
    root().version = engine_ >= base::Version{2, 0, 0} ? 3 : 2;
    assign(0, {"version"}, root().version);
  }

  [[nodiscard]] std::size_t last_that_names(Place place) const {
    for (std::size_t i = parts_.size(); i-- > 1;)
      if (parts_[i].tree.at({"plugins", (containerd_layout(parts_[i].version).*place)[1]})) return i;
    return 0;
  }

  /// gpuadm's own file, in the directory that is read last: an imported one, otherwise containerd's usual
  /// one.
  std::size_t place_own(const std::map<std::string, std::string>& texts) {
    const std::filesystem::path home = std::filesystem::path(containerd_config_path).parent_path();
    std::string path = home / "conf.d/zz-gpuadm.toml";
    if (const Tree* imports = root().tree.find("imports"))
      for (const Tree& item : imports->items()) {
        if (!item.text().ends_with("/*.toml")) continue;
        path = (home / item.text()).lexically_normal().parent_path() / "zz-gpuadm.toml";
        own_is_read_ = true;
      }
    const auto there = std::ranges::find(parts_, path, &ContainerdPart::path);
    if (there != parts_.end()) {
      own_is_read_ = true;
      return static_cast<std::size_t>(there - parts_.begin());
    }
    // A file there that is not imported has no effect so far.
    const auto text = texts.find(path);
    parts_.push_back({path, text == texts.end() ? std::nullopt : std::optional(text->second), Tree::map(),
                      root().version});
    wanted_.emplace_back();
    return parts_.size() - 1;
  }

  [[nodiscard]] std::string begin_own() const {
    return fmt::format("# gpuadm's part of containerd's configuration.\nversion = {}\n",
                       parts_[*own_].version);
  }

  void import_own() {
    if (own_is_read_) return;
    const Tree* there = root().tree.find("imports");
    Tree imports = there ? *there : Tree::list();
    imports.push(parts_[*own_].path);
    assign(0, {"imports"}, imports);
  }

  std::vector<ContainerdPart> parts_;
  std::vector<std::vector<base::toml::Assignment>> wanted_;  ///< by part
  base::Version engine_;
  std::optional<std::size_t> own_;
  bool own_is_read_ = false;
};

/// flannel installs its binary into /opt/cni/bin, where gpuadm links the others. That is containerd's
/// default; Debian's builds have another up to 1.x.
void use_opt_cni(Surgery& surgery, const base::Version& engine) {
  const std::string folder = "/opt/cni/bin";
  const Tree* several = surgery.find(&Layout::cni, {"bin_dirs"});
  if (several &&
      std::ranges::none_of(several->items(), [&](const Tree& item) { return item.text() == folder; })) {
    Tree more = *several;
    more.push(folder);
    surgery.want(&Layout::cni, {"bin_dirs"}, more);
  }
  if (engine < base::Version{2, 0, 0} || surgery.find(&Layout::cni, {"bin_dir"}))
    surgery.want(&Layout::cni, {"bin_dir"}, folder);
}

/// Mirrors are in one hosts.toml per registry, which the CRI reads below config_path; with existing mirrors
/// of the old form it rejects config_path (containerd docs/cri/registry.md), and gpuadm's are added before
/// those.
void use_mirrors(Surgery& surgery, const std::map<std::string, std::string>& mirrors) {
  if (mirrors.empty()) return;
  if (const Tree* path = surgery.find(&Layout::registry, {"config_path"}); path && !path->text().empty())
    return;
  const Tree* old = surgery.find(&Layout::registry, {"mirrors"});
  if (!old || old->entries().empty())
    return surgery.want(&Layout::registry, {"config_path"}, containerd_certs);
  for (const auto& [registry, url] : mirrors) {
    Tree endpoints = Tree::list_of(std::vector{url});
    if (const Tree* theirs = surgery.find(&Layout::registry, {"mirrors", registry, "endpoint"}))
      for (const Tree& endpoint : theirs->items())
        if (endpoint.text() != url) endpoints.push(endpoint);
    surgery.want(&Layout::registry, {"mirrors", registry, "endpoint"}, endpoints);
  }
}

bool runs_runc(const Tree* type) {
  return type && (type->text() == "io.containerd.runc.v2" || type->text() == "io.containerd.runc.v1");
}

/// runc, and the default runtime that replaces it, use the kubelet's cgroup driver.
void set_cgroup_driver(Surgery& surgery, bool systemd) {
  surgery.want_any(&Layout::runtimes, {"runc", "runtime_type"}, "io.containerd.runc.v2");
  surgery.want(&Layout::runtimes, {"runc", "options", "SystemdCgroup"}, systemd);
  const Tree* other = surgery.find(&Layout::default_runtime, {});
  if (other && other->text() != "runc" && other->text() != "nvidia" &&
      runs_runc(surgery.find(&Layout::runtimes, {other->text(), "runtime_type"})))
    surgery.want(&Layout::runtimes, {other->text(), "options", "SystemdCgroup"}, systemd);
}

/// Options of a runtime that runs runc, in addition to its type and its binary (containerd
/// docs/cri/config.md, and the options of its shim for runc).
constexpr std::array<const char*, 10> inherited = {"base_runtime_spec",
                                                   "runtime_engine",
                                                   "runtime_root",
                                                   "privileged_without_host_devices",
                                                   "privileged_without_host_devices_all_devices_allowed",
                                                   "pod_annotations",
                                                   "container_annotations",
                                                   "cni_conf_dir",
                                                   "cni_max_conf_num",
                                                   "snapshotter"};
constexpr std::array<const char*, 8> inherited_options = {
    "NoPivotRoot", "NoNewKeyring", "ShimCgroup", "IoUid", "IoGid", "Root", "CriuPath", "CriuImagePath"};

/// A new runtime nvidia copies the settings of its base runtime, like nvidia-ctk
/// (NVIDIA/nvidia-container-toolkit, pkg/config/engine): the default one, otherwise runc, otherwise crun.
void inherit(Surgery& surgery) {
  if (surgery.find(&Layout::runtimes, {"nvidia"})) return;
  const Tree* chosen = surgery.find(&Layout::default_runtime, {});
  for (const std::string& name : {chosen ? chosen->text() : "", std::string("runc"), std::string("crun")}) {
    if (name.empty() || name.starts_with("nvidia") || !surgery.find(&Layout::runtimes, {name})) continue;
    const Tree* type = surgery.find(&Layout::runtimes, {name, "runtime_type"});
    if (type && !runs_runc(type)) continue;
    for (const char* key : inherited)
      if (const Tree* value = surgery.find(&Layout::runtimes, {name, key}))
        surgery.want(&Layout::runtimes, {"nvidia", key}, Tree(*value));
    for (const char* key : inherited_options)
      if (const Tree* value = surgery.find(&Layout::runtimes, {name, "options", key}))
        surgery.want(&Layout::runtimes, {"nvidia", "options", key}, Tree(*value));
    return;
  }
}

void set_nvidia(Surgery& surgery, const Context& context, const base::Version& engine, bool systemd) {
  if (const std::string binary = nvidia_runtime(context); !binary.empty()) {
    inherit(surgery);
    surgery.want_any(&Layout::runtimes, {"nvidia", "runtime_type"}, "io.containerd.runc.v2");
    surgery.want_any(&Layout::runtimes, {"nvidia", "options", "BinaryName"}, binary);
    surgery.want(&Layout::runtimes, {"nvidia", "options", "SystemdCgroup"}, systemd);
    // Supported since 1.7, enabled by default since 2.0 (containerd docs/cri/config.md).
    const bool off = surgery.find(&Layout::cri, {"enable_cdi"}) != nullptr;
    if (engine >= base::Version{1, 7, -1} && (off || engine < base::Version{2, 0, -1}))
      surgery.want(&Layout::cri, {"enable_cdi"}, true);
  }
  if (defaults_to_nvidia(context))
    surgery.want(&Layout::default_runtime, {}, "nvidia");
  else if (context.cluster.runtime.default_runtime == spec::DefaultRuntime::runc)
    surgery.want(&Layout::default_runtime, {}, "runc");
}

}  // namespace

Result<std::vector<Composed>> compose_containerd_config(const Context& context) {
  TRY(reads(context, "containerd.service", {"--config", "-c"}, containerd_config_path));
  const facts::Containerd containerd = context.facts.runtime.containerd.value_or(facts::Containerd{});
  const base::Version engine = engine_version(containerd.version, {1, 6, 0});
  Surgery surgery(TRY(containerd_parts(containerd, context.host.name)), engine, containerd.drop_in_texts);
  TRY(surgery.is_read(context.host.name));
  const bool systemd = cgroup_driver(context) == "systemd";
  surgery.enable_cri();
  set_cgroup_driver(surgery, systemd);
  if (const std::string pause = pause_image(context).name; !pause.empty())
    surgery.want(&Layout::sandbox_image, {}, pause);
  if (context.cluster.network.plugin != spec::NetworkPlugin::none) use_opt_cni(surgery, engine);
  use_mirrors(surgery, context.cluster.mirrors.registries);
  set_nvidia(surgery, context, engine, systemd);
  if (context.cluster.patches.runtime.is_map()) surgery.patch(context.cluster.patches.runtime, {});
  return surgery.done(context.host.name);
}

}  // namespace playbook
