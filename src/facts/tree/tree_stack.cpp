#include "gpuadm/base/text.hpp"

#include "facts/kubernetes/hardening.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

/// Runtime configurations may contain registry passwords.
Tree redacted(const std::optional<std::string>& text) {
  if (!text) return {};
  std::string all;
  for (const std::string_view line : base::lines(*text)) {
    const std::size_t equals = line.find_first_of("=:");
    const std::string name = base::lower(line.substr(0, std::min(equals, line.size())));
    const bool secret =
        equals != std::string_view::npos &&
        (name.find("password") != std::string::npos || name.find("token") != std::string::npos ||
         name.find("auth") != std::string::npos || name.find("secret") != std::string::npos);
    all += secret ? std::string(line.substr(0, equals + 1)) + " \"***\"" : std::string(line);
    all += '\n';
  }
  return all;
}

Tree lock(const PackageLock& l) {
  return Tree::map_of({{"file", l.file}, {"pid", l.pid}, {"program", l.program}});
}

Tree repository(const Repository& r) {
  return Tree::map_of({{"file", r.file}, {"line", r.line}});
}

Tree containerd(const std::optional<Containerd>& c) {
  if (!c) return {};
  Tree runtimes = Tree::map();
  for (const auto& [name, systemd] : c->runtimes)
    runtimes.set(name, Tree::map_of({{"systemdCgroup", systemd}}));
  Tree drop_ins = Tree::map();
  for (const auto& [name, text] : c->drop_in_texts) drop_ins.set(name, redacted(text));
  return Tree::map_of({{"version", c->version},
                       {"socket", c->socket},
                       {"config", redacted(c->config)},
                       {"configVersion", tree_of(c->config_version)},
                       {"dropIns", drop_ins},
                       {"error", c->error},
                       {"criDisabled", tree_of(c->cri_disabled)},
                       {"criStatus", tree_of(c->cri_status)},
                       {"sandboxImage", tree_of(c->sandbox_image)},
                       {"runtimes", runtimes},
                       {"defaultRuntime", c->default_runtime},
                       {"root", c->root},
                       {"enableCdi", tree_of(c->enable_cdi)},
                       {"cdiDirs", Tree::list_of(c->cdi_dirs)},
                       {"loadedFiles", Tree::list_of(c->loaded_files)},
                       {"registryConfigPath", c->registry_config_path},
                       {"oldMirrors", Tree::list_of(c->old_mirrors)}});
}

Tree crio_config(const std::optional<CrioConfig>& c) {
  if (!c) return {};
  return Tree::map_of({{"cgroupManager", c->cgroup_manager},
                       {"defaultRuntime", c->default_runtime},
                       {"runtimes", Tree::list_of(c->runtimes)},
                       {"error", c->error}});
}

Tree cdi(const CdiSpec& c) {
  return Tree::map_of({{"file", c.file},
                       {"kind", c.kind},
                       {"devices", Tree::list_of(c.devices)},
                       {"versions", Tree::list_of(c.versions)}});
}

Tree toolkit(const Toolkit& t) {
  return Tree::map_of({{"config", tree_of(t.config)},
                       {"configError", t.config_error},
                       {"cliStatus", tree_of(t.cli_status)},
                       {"cliSays", t.cli_says},
                       {"cdi", list_of(t.cdi, cdi)}});
}

Tree certificate(const Certificate& c) {
  return Tree::map_of({{"path", c.path}, {"ends", c.ends}});
}

Tree docker(const std::optional<Docker>& d) {
  if (!d) return {};
  return Tree::map_of({{"version", d->version},
                       {"socket", d->socket},
                       {"daemonJson", redacted(d->daemon_json)},
                       {"cgroupDriver", tree_of(d->cgroup_driver)},
                       {"defaultRuntime", d->default_runtime},
                       {"storageDriver", d->storage_driver},
                       {"root", d->root}});
}

Tree component(const Component& part) {
  return Tree::map_of({{"name", part.name}, {"status", part.status}, {"says", part.says}});
}

Tree pod_container(const PodContainer& one) {
  return Tree::map_of({{"namespace", one.space},
                       {"pod", one.pod},
                       {"name", one.name},
                       {"attempt", one.attempt},
                       {"state", one.state},
                       {"exitCode", tree_of(one.exit_code)},
                       {"reason", one.reason},
                       {"message", one.message},
                       {"log", Tree::list_of(one.log)}});
}

Tree pod_error(const PodError& one) {
  return Tree::map_of({{"pod", one.pod},
                       {"container", one.container},
                       {"operation", one.operation},
                       {"reason", one.reason},
                       {"message", one.message}});
}

}  // namespace

Tree software_tree(const Facts& f) {
  Tree units = Tree::map(), packages = Tree::map();
  for (const auto& [name, unit] : f.software.units)
    units.set(name, Tree::map_of({{"load", unit.load},
                                  {"active", unit.active},
                                  {"sub", unit.sub},
                                  {"enabled", unit.enabled},
                                  {"restarts", tree_of(unit.restarts)},
                                  {"since", tree_of(unit.since)},
                                  {"proxies", map_of(unit.environment)},
                                  {"limits", map_of(unit.limits)}}));
  for (const auto& [name, package] : f.software.packages)
    packages.set(
        name, Tree::map_of(
                  {{"version", package.version}, {"installed", package.installed}, {"held", package.held}}));
  return Tree::map_of({{"tools", map_of(f.software.tool_paths)},
                       {"paths", map_of(f.software.paths)},
                       {"units", units},
                       {"packages", packages},
                       {"packageLocks", list_of(f.software.package_locks, lock)},
                       {"repositories", list_of(f.software.repositories, repository)},
                       {"selinux", tree_of(f.security.selinux)},
                       {"apparmor", tree_of(f.security.apparmor)}});
}

Tree runtimes_tree(const Facts& f) {
  return Tree::map_of({{"sockets", Tree::list_of(f.runtime.sockets)},
                       {"containerd", containerd(f.runtime.containerd)},
                       {"docker", docker(f.runtime.docker)},
                       {"crio", tree_of(f.runtime.crio)},
                       {"runc", tree_of(f.runtime.runc)},
                       {"nvidiaCtk", tree_of(f.nvidia.ctk)},
                       {"crioConfig", crio_config(f.runtime.crio_config)},
                       {"crictlEndpoint", tree_of(f.runtime.crictl_endpoint)},
                       {"toolkit", toolkit(f.nvidia.toolkit)},
                       {"deviceLabel", tree_of(f.nvidia.device_label)}});
}

Tree kubernetes_tree(const Kubernetes& k) {
  return Tree::map_of({{"kubeadm", tree_of(k.kubeadm)},
                       {"kubelet", tree_of(k.kubelet)},
                       {"kubectl", tree_of(k.kubectl)},
                       {"images", Tree::list_of(k.images)},
                       {"adminConf", k.admin_conf},
                       {"adminServer", k.admin_server},
                       {"kubeletConf", k.kubelet_conf},
                       {"kubeletServer", k.kubelet_server},
                       {"clusterName", k.cluster_name},
                       {"nodeName", k.node_name},
                       {"bootstrapConf", k.bootstrap_conf},
                       {"ca", k.ca},
                       {"caSha256", k.ca_sha256},
                       {"manifests", Tree::list_of(k.manifests)},
                       {"etcdData", k.etcd_data},
                       {"cniConfigs", Tree::list_of(k.cni_configs)},
                       {"cniBinaries", Tree::list_of(k.cni_binaries)},
                       {"kubeletConfig", tree_of(k.kubelet_config)},
                       {"kubeletConfigError", k.kubelet_config_error},
                       {"kubeletFlags", k.kubelet_flags},
                       {"kubeletLog", Tree::list_of(k.kubelet_log)},
                       {"devicePlugins", k.device_plugins ? Tree::list_of(*k.device_plugins) : Tree()},
                       {"certificates", k.certificates ? list_of(*k.certificates, certificate) : Tree()},
                       {"components", k.components ? list_of(*k.components, component) : Tree()},
                       {"cpuState", tree_of(k.cpu_state)},
                       {"memoryState", tree_of(k.memory_state)},
                       {"sharedMount", tree_of(k.shared_mount)},
                       {"hardening", hardening_tree(k.hardening)}});
}

Tree pod_states_tree(const PodStates& states) {
  return Tree::map_of({{"source", states.source},
                       {"containers", list_of(states.containers, pod_container)},
                       {"errors", list_of(states.errors, pod_error)},
                       {"kubeletUnread", states.kubelet_unread},
                       {"kubeletFatal", states.kubelet_fatal},
                       {"kubeletLog", Tree::list_of(states.kubelet_log)},
                       {"runtimeLog", Tree::list_of(states.runtime_log)},
                       {"inotifyRefused", states.inotify_refused},
                       {"inotifyInstances", tree_of(states.inotify_instances)}});
}

}  // namespace facts
