#include "gpuadm/facts/families.hpp"
#include "gpuadm/facts/time_services.hpp"
#include "gpuadm/spec/engines.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include "playbook/environment.hpp"
#include "playbook/gpu_nodes.hpp"
#include "playbook/hardening.hpp"
#include "playbook/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using spec::Allocator;
using spec::Engine;
using spec::GpuStack;
using spec::NetworkPlugin;
using spec::Role;
using spec::Source;
using spec::Swap;

/// Whether gpuadm itself allocates GPUs in that way.
bool serves(const Context& context, Allocator way) {
  return context.cluster.gpu.stack == GpuStack::native && context.cluster.gpu.allocator == way;
}

bool schedulable(const Context& context) {
  if (context.cluster.control_plane.schedulable != spec::Schedulable::automatic)
    return context.cluster.control_plane.schedulable == spec::Schedulable::yes;
  return context.cluster.hosts.size() == 1;
}

const spec::Host* first_control_plane_of(const Context& context) {
  static const facts::Census none;
  return first_control_plane(context.cluster, context.census ? *context.census : none);
}

bool is_first_control_plane(const Context& context) {
  const spec::Host* first = first_control_plane_of(context);
  return first && first->name == context.host.name;
}

bool joins(const Context& context) {
  const spec::Host* first = first_control_plane_of(context);
  return first && first->name != context.host.name;
}

/// Whether a host that is not a node yet joins with one of the roles.
bool any_joins(const Context& context, bool (*with)(Role)) {
  const spec::Host* first = first_control_plane_of(context);
  return first && context.census && std::ranges::any_of(context.cluster.hosts, [&](const spec::Host& host) {
           const auto facts = context.census->find(host.name);
           return host.name != first->name && with(host.role) && facts != context.census->end() &&
                  facts->second && !is_node(*facts->second);
         });
}

/// An installed component that matches the request is used unchanged.
bool installs_packages(const Context& context) {
  if (context.bundle || context.cluster.kubernetes.source != Source::packages) return false;
  const facts::Kubernetes& tools = context.facts.kubernetes;
  if (!tools.kubectl) return true;
  for (const auto* tool : {&tools.kubeadm, &tools.kubelet}) {
    const auto version = *tool ? base::Version::parse(**tool) : std::nullopt;
    if (!version || *version != context.kubernetes) return true;
  }
  return false;
}

bool runs(const Context& context, const char* unit) {
  const auto place = context.facts.software.units.find(unit);
  return place != context.facts.software.units.end() &&
         (place->second.active == "active" || place->second.active == "activating");
}

/// Installed, but not running.
bool stopped(const Context& context, const char* unit) {
  return context.facts.software.units.contains(unit) && !runs(context, unit);
}

bool time_service_stopped(const Context& context) {
  const auto some = [&](bool (*holds)(const Context&, const char*)) {
    return std::ranges::any_of(facts::time_services, [&](const char* unit) { return holds(context, unit); });
  };
  return some(stopped) && !some(runs);
}

/// A node whose kubelet is stopped, or is not started at boot.
bool kubelet_off(const Context& context) {
  const auto place = context.facts.software.units.find("kubelet.service");
  return context.facts.kubernetes.kubelet_conf && place != context.facts.software.units.end() &&
         (place->second.enabled != "enabled" || place->second.active == "inactive" ||
          place->second.active == "failed");
}

/// One is to be installed, and the GPUs determine which.
bool installs_driver(const Context& context) {
  return context.cluster.gpu.driver == spec::DriverPolicy::install &&
         context.decisions.of(context.host.name).driver_branch != 0;
}

bool nouveau_absent(const Context& context) {
  return std::ranges::none_of(context.facts.kernel.modules, [](const std::string& module) {
    return module == "nouveau" || module.starts_with("nova_");
  });
}

std::string network_selector(const spec::NetworkPluginRow& plugin) {
  return fmt::format("network-{}", plugin.name);
}

struct ConditionRow {
  std::string_view name;
  bool (*holds)(const Context&);
};

constexpr ConditionRow condition_table[] = {
    {"all", [](const Context&) { return true; }},
    {"control-plane", [](const Context& c) { return c.host.role == Role::control_plane; }},
    {"first-control-plane", is_first_control_plane},
    {"worker", [](const Context& c) { return c.host.role == Role::worker; }},
    {"joins", joins},
    {"somebody-joins", [](const Context& c) { return any_joins(c, [](Role) { return true; }); }},
    {"control-plane-joins",
     [](const Context& c) { return any_joins(c, [](Role r) { return r == Role::control_plane; }); }},
    {"node", [](const Context& c) { return is_node(c.facts); }},
    {"health", [](const Context& c) { return c.facts.software.units.contains("gpuadm-health.timer"); }},
    {"several-hosts", [](const Context& c) { return c.cluster.hosts.size() > 1; }},
    {"schedulable", schedulable},
    {"virtual-address", [](const Context& c) { return !c.cluster.control_plane.virtual_address.empty(); }},
    {"gpu", [](const Context& c) { return has_gpu(c.facts); }},
    {"gpu-somewhere", has_gpu_somewhere},
    {"runtime-classes", has_runtime_classes},
    {"driver-install", installs_driver},

    {"driver-use", [](const Context& c) { return has_gpu(c.facts) && !installs_driver(c); }},
    // NVLink 5 switches are not on the PCI bus, but the cards that manage them are.
    {"nvswitch",
     [](const Context& c) {
       return !c.facts.nvidia.nvswitches.empty() || !c.facts.nvidia.nvlink_managers.empty();
     }},
    {"nvlink5", [](const Context& c) { return !c.facts.nvidia.nvlink_managers.empty(); }},
    {"device-plugin", [](const Context& c) { return serves(c, Allocator::device_plugin); }},
    {"dra", [](const Context& c) { return serves(c, Allocator::dra); }},
    {"gpu-operator", [](const Context& c) { return c.cluster.gpu.stack == GpuStack::gpu_operator; }},
    {"imports-images", [](const Context& c) { return c.cluster.runtime.engine != Engine::crio; }},
    {"hardened", is_hardened},
    {"not-hardened", [](const Context& c) { return !is_hardened(c); }},
    {"hardened-anonymous", [](const Context& c) { return is_hardened(c) && limits_anonymous(c.kubernetes); }},
    {"swap-off", [](const Context& c) { return c.cluster.swap == Swap::off; }},
    {"swap-kept", [](const Context& c) { return c.cluster.swap != Swap::off; }},
    {"network-workload",
     [](const Context& c) { return !spec::row_of(c.cluster.network.plugin).workload.empty(); }},
    {"network-gpuadm", [](const Context& c) { return c.cluster.network.plugin != NetworkPlugin::none; }},
    {"source-packages", installs_packages},
    {"wants-packages",
     [](const Context& c) { return !c.bundle && c.cluster.kubernetes.source == Source::packages; }},
    {"source-bundle", [](const Context& c) { return c.bundle != nullptr; }},
    {"online", [](const Context& c) { return c.bundle == nullptr; }},
    {"packages-offered", offers_packages},
    {"proxy", has_proxy},
    {"registry-mirrors", [](const Context& c) { return !c.cluster.mirrors.registries.empty(); }},
    {"registry-hosts", [](const Context& c) { return !registry_hosts(c).empty(); }},
    {"storage", has_any_storage},
    {"storage-shared", has_shared_storage},
    {"storage-nfs", [](const Context& c) { return has_storage(c, spec::StorageKind::nfs); }},
    {"storage-cephfs", [](const Context& c) { return has_storage(c, spec::StorageKind::cephfs); }},
    {"storage-key-left", lacks_storage_key},
    {"default-class", has_default_class},
    {"default-class-here", has_default_class_here},
    // State of the host.
    {"apt", [](const Context& c) { return c.facts.os.family == facts::Family::debian; }},
    {"has-address", [](const Context& c) { return !c.facts.network.default_address.empty(); }},
    {"kubelet-configured", [](const Context& c) { return c.facts.kubernetes.kubelet_conf; }},
    {"kubelet-off", kubelet_off},
    {"containerd-stopped", [](const Context& c) { return stopped(c, "containerd.service"); }},
    {"docker-stopped", [](const Context& c) { return stopped(c, "docker.service"); }},
    {"time-service-stopped", time_service_stopped},
    {"driver-installed",
     [](const Context& c) {
       return c.facts.nvidia.driver.has_value() || c.facts.nvidia.driver_installed.has_value();
     }},
    {"driver-loaded", [](const Context& c) { return c.facts.nvidia.driver.has_value(); }},
    {"nouveau-absent", nouveau_absent},
    {"toolkit", [](const Context& c) { return c.facts.nvidia.ctk.has_value(); }},
    {"persistenced",
     [](const Context& c) { return c.facts.software.units.contains("nvidia-persistenced.service"); }},
    {"fabric-manager-stopped", [](const Context& c) { return stopped(c, "nvidia-fabricmanager.service"); }},
    {"cdi-refresh",
     [](const Context& c) { return c.facts.software.units.contains("nvidia-cdi-refresh.path"); }},
};

/// Whether a condition holds; nothing: there is none of that name. Container runtimes are selected by their
/// names, pod networks by network-NAME.
std::optional<bool> holds(std::string_view name, const Context& context) {
  if (const auto* row = std::ranges::find(condition_table, name, &ConditionRow::name);
      row != std::end(condition_table))
    return row->holds(context);
  for (const spec::EngineRow& engine : spec::engines)
    if (name == engine.name) return context.cluster.runtime.engine == engine.engine;
  for (const spec::NetworkPluginRow& plugin : spec::network_plugins)
    if (name == network_selector(plugin)) return context.cluster.network.plugin == plugin.plugin;
  return std::nullopt;
}

}  // namespace

std::string release_of(const facts::Os& os) {
  return fmt::format("{}-{}", os.id, os.version_id);
}

bool is_for(const bundle::BundleFile& file, const facts::Os& os) {
  if (file.kind == bundle::BundleKind::repository) return file.os == release_of(os);
  const auto family = facts::family_named(file.os);
  return !family || *family == os.family;
}

bool has_packages(const bundle::Bundle& bundle, const facts::Os& os) {
  return std::ranges::any_of(bundle.files, [&](const bundle::BundleFile& file) {
    return file.kind == bundle::BundleKind::repository && is_for(file, os);
  });
}

bool offers_packages(const Context& context) {
  return !context.bundle || has_packages(*context.bundle, context.facts.os);
}

bool is_node(const facts::Facts& facts) {
  return facts.kubernetes.kubelet_conf && !facts.software.paths.contains("/var/lib/gpuadm/joining");
}

const spec::Host* first_control_plane(const spec::Cluster& cluster, const facts::Census& census) {
  const spec::Host* first = nullptr;
  for (const spec::Host& host : cluster.hosts) {
    if (host.role != Role::control_plane) continue;
    const auto facts = census.find(host.name);
    const bool there = facts != census.end() && facts->second && facts->second->kubernetes.admin_conf &&
                       is_node(*facts->second);
    if (there) return &host;
    if (!first) first = &host;
  }
  return first;
}

bool selected(const Step& step, const Context& context) {
  return std::ranges::all_of(
      step.on, [&](const Selector& selector) { return holds(selector.name, context) == selector.holds; });
}

std::vector<std::string> selectors() {
  std::vector<std::string> names;
  for (const ConditionRow& row : condition_table) names.emplace_back(row.name);
  for (const spec::EngineRow& engine : spec::engines) names.emplace_back(engine.name);
  for (const spec::NetworkPluginRow& plugin : spec::network_plugins)
    names.push_back(network_selector(plugin));
  return names;
}

}  // namespace playbook
