#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/time_services.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/spec/engines.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include "playbook/environment.hpp"
#include "playbook/gpu_nodes.hpp"
#include "playbook/hardening.hpp"
#include "playbook/kubeadm.hpp"
#include "playbook/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

constexpr int oldest_minor = 20;  // of Kubernetes 1; what the lab installs

std::string cluster_name(const Context& c) {
  return c.cluster.name;
}
std::string pod_cidr(const Context& c) {
  return c.cluster.network.pod_cidr;
}
/// The part of the pod network that the first node gets: kube-controller-manager allocates /24 networks in
/// order (--node-cidr-mask-size-ipv4).
std::string first_node_cidr(const Context& c) {
  const std::string& all = c.cluster.network.pod_cidr;
  const auto cidr = base::Cidr::parse(all);
  return cidr && cidr->prefix < 24 && !cidr->v6 ? all.substr(0, all.find('/')) + "/24" : all;
}
/// The path of flannel's readiness probe: /readyz exists since v0.28.9 (flannel pkg/healthz). An image
/// without a version in its tag may be older.
std::string flannel_ready_path(const Context& c) {
  const std::string image = image_named(c, "flannel_image").value_or("");
  const std::string name = image.substr(image.rfind('/') + 1);
  const std::size_t colon = name.find(':');
  const bool tagged = colon != std::string::npos && name.find('@') == std::string::npos;
  const auto version = tagged ? base::Version::parse(name.substr(colon + 1)) : std::nullopt;
  return version && *version >= base::Version{0, 28, 9} ? "/readyz" : "/healthz";
}
/// Lines "NODE KEY=VALUE" for all hosts with labels in the cluster file.
std::string cluster_labels(const Context& c) {
  std::string text;
  for (const spec::Host& host : c.cluster.hosts) {
    const auto facts = c.census ? c.census->find(host.name) : facts::Census::const_iterator{};
    if (!c.census || facts == c.census->end() || !facts->second) continue;
    const std::string node =
        node_name({c.cluster, c.decisions, host, *facts->second, c.catalog, c.bundle, c.kubernetes});
    for (const auto& [key, value] : host.labels) text += fmt::format("{} {}={}\n", node, key, value);
  }
  return text;
}
/// The current and future nodes among the hosts of the run, one per line.
std::string node_names(const Context& c) {
  std::string text;
  for (const spec::Host& host : c.cluster.hosts) {
    const auto facts = c.census ? c.census->find(host.name) : facts::Census::const_iterator{};
    if (!c.census || facts == c.census->end() || !facts->second) continue;
    text +=
        node_name({c.cluster, c.decisions, host, *facts->second, c.catalog, c.bundle, c.kubernetes}) + "\n";
  }
  return text;
}
/// "always": nodes that were tested before are tested again. Set only by `gpuadm verify`.
std::string network_proof(const Context&) {
  return {};
}
/// Addresses of control-plane nodes that will join, one per line.
std::string joining_control_planes(const Context& c) {
  const spec::Host* first = c.census ? first_control_plane(c.cluster, *c.census) : nullptr;
  std::string text;
  for (const spec::Host& host : c.cluster.hosts) {
    if (!first || host.name == first->name || host.role != spec::Role::control_plane) continue;
    const auto facts = c.census->find(host.name);
    if (facts != c.census->end() && facts->second && !is_node(*facts->second))
      text += facts->second->network.default_address + "\n";
  }
  return text;
}
std::string service_cidr(const Context& c) {
  return c.cluster.network.service_cidr;
}
std::string kubernetes_version_text(const Context& c) {
  return c.kubernetes.text();
}
std::string kubernetes_minor(const Context& c) {
  return c.kubernetes.minor_text();
}
std::string engine(const Context& c) {
  return std::string(spec::row_of(c.cluster.runtime.engine).name);
}

std::string host_address(const Context& c) {
  return c.facts.network.default_address;
}

/// One per line.
std::string time_services(const Context&) {
  std::string text;
  for (const char* unit : facts::time_services) text += fmt::format("{}\n", unit);
  return text;
}

std::string virtual_address(const Context& c) {
  return c.cluster.control_plane.virtual_address;
}
std::string virtual_interface(const Context& c) {
  return link_to(c.facts.network, c.cluster.control_plane.virtual_address);
}

std::string kernel(const Context& c) {
  return c.facts.kernel.release;
}
std::string driver_branch(const Context& c) {
  return std::to_string(c.decisions.of(c.host.name).driver_branch);
}
std::string driver_modules(const Context& c) {
  return c.decisions.of(c.host.name).driver_modules;
}
/// "ubuntu2404": the release whose packages the host uses, in NVIDIA's notation for repositories.
std::string cuda_release(const Context& c) {
  return c.facts.os.parent_id + base::replace_all(c.facts.os.parent_version_id, ".", "");
}

std::string os_release(const Context& c) {
  return release_of(c.facts.os);
}
/// Source of operating-system packages: "bundle", or the host's own repositories.
std::string package_source(const Context& c) {
  return c.bundle && offers_packages(c) ? "bundle" : "";
}

/// Checksums of the bundle's packages for this host, one per line.
std::string bundle_packages(const Context& c) {
  std::string text;
  if (!c.bundle) return text;
  for (const bundle::BundleFile& file : c.bundle->files)
    if (file.kind == bundle::BundleKind::package && is_for(file, c.facts.os)) text += file.sha256 + "\n";
  return text;
}

std::string architecture(const Context& c) {
  return c.facts.os.architecture == "aarch64" ? "arm64" : "amd64";
}

/// Phases that kubeadm must skip: gpuadm has its own preflight, and an add-on that is not in the bundle
/// cannot start.
std::string kubeadm_skip_phases(const Context& c) {
  std::vector<std::string> phases = {"preflight"};
  if (c.bundle && std::ranges::find(c.bundle->absent, "coredns") != c.bundle->absent.end())
    phases.emplace_back("addon/coredns");
  return base::join(phases, ",");
}

/// The version for apt and dnf: this patch, in any package revision.
std::string package_version(const Context& c) {
  return c.kubernetes.text() + "-*";
}

/// PCI addresses of the GPUs in the driver.
std::string gpu_slots(const Context& c) {
  std::vector<std::string> slots;
  for (const facts::Gpu& gpu : c.facts.nvidia.gpus) slots.push_back(gpu.bus_id);
  return base::join(slots, " ");
}

/// The content of /etc/gpuadm/quarantine without its comment.
std::string gpu_quarantine(const Context& c) {
  std::string lines;
  for (const facts::QuarantinedGpu& gpu : c.facts.nvidia.quarantine)
    lines += fmt::format("{} {} {}{}{}{}{}\n", gpu.uuid, gpu.slot, gpu.since, gpu.by_taint ? " " : "",
                         gpu.by_taint ? facts::taint_word : "", gpu.reason.empty() ? "" : " ", gpu.reason);
  return lines;
}

/// The hosts whose GPUs are waited for; empty: all. Set by commands that change the GPUs of some hosts.
std::string gpu_hosts(const Context&) {
  return {};
}

/// By it, pods that request nvidia.com/gpu get a device of the class. Before 1.36 the API server drops the
/// field (DRAExtendedResource in data/feature-gates.csv).
std::string dra_resource_name(const Context& c) {
  return c.kubernetes >= base::Version{1, 36, 0} ? "  extendedResourceName: nvidia.com/gpu\n" : "";
}

/// "off", or "on" and the profiles in order: the format of mig_now in prelude.sh.
std::string mig_wanted(const Context& c) {
  std::vector<std::string> profiles;
  for (const auto& [profile, count] : layout_of(c.cluster, c.host, c.facts).mig.devices)
    profiles.insert(profiles.end(), static_cast<std::size_t>(count), profile);
  return profiles.empty() ? "off" : "on " + base::join(profiles, ",");
}

/// Lines "NODE PART PACKAGE VERSION", set only by `gpuadm upgrade`.
std::string stack_targets(const Context&) {
  return {};
}
std::string kubernetes_repository(const Context& c) {
  return package_repository(c, "kubernetes", "kubernetes_repository");
}
std::string toolkit_repository(const Context& c) {
  return package_repository(c, "nvidiaContainerToolkit", "toolkit_repository");
}
std::string cuda_repository(const Context& c) {
  return package_repository(c, "nvidiaDriver", "cuda_repository");
}
std::string kubernetes_keys(const Context& c) {
  return package_keys(c, "kubernetes", "kubernetes_key_fingerprints");
}
std::string toolkit_keys(const Context& c) {
  return package_keys(c, "nvidiaContainerToolkit", "toolkit_key_fingerprints");
}
std::string cuda_keys(const Context& c) {
  return package_keys(c, "nvidiaDriver", "cuda_key_fingerprints");
}

struct VariableRow {
  const char* name;
  std::string (*value)(const Context&);
};

constexpr VariableRow variable_table[] = {
    {"advertise_address", advertise_address},
    {"architecture", architecture},
    {"bundle_packages", bundle_packages},
    {"cluster_labels", cluster_labels},
    {"cluster_name", cluster_name},
    {"cri_socket", cri_socket},
    {"cuda_keys", cuda_keys},
    {"cuda_repository", cuda_repository},
    {"default_class_folder", default_class_folder},
    {"default_class_node", default_class_node},
    {"dra_driver_daemonsets", dra_driver_daemonsets},
    {"dra_resource_name", dra_resource_name},
    {"driver_branch", driver_branch},
    {"driver_modules", driver_modules},
    {"engine", engine},
    {"first_node_cidr", first_node_cidr},
    {"network_workload",
     [](const Context& c) { return std::string(spec::row_of(c.cluster.network.plugin).workload); }},
    {"flannel_ready_path", flannel_ready_path},
    {"gpu_hosts", gpu_hosts},
    {"gpu_nodes", gpu_nodes},
    {"gpu_quarantine", gpu_quarantine},
    {"gpu_slots", gpu_slots},
    {"host_address", host_address},
    {"join_configuration", join_configuration},
    {"joining_control_planes", joining_control_planes},
    {"kernel", kernel},
    {"kubeadm_skip_phases", kubeadm_skip_phases},
    {"kubernetes_keys", kubernetes_keys},
    {"kubernetes_minor", kubernetes_minor},
    {"kubernetes_repository", kubernetes_repository},
    {"kubernetes_version", kubernetes_version_text},
    {"mig_wanted", mig_wanted},
    {"network_proof", network_proof},
    {"node_addresses", node_addresses},
    {"node_labels", node_labels},
    {"node_name", node_name},
    {"node_names", node_names},
    {"cuda_release", cuda_release},
    {"os_release", os_release},
    {"package_source", package_source},
    {"package_version", package_version},
    {"pod_cidr", pod_cidr},
    {"proxy_apt", proxy_apt},
    {"proxy_dnf", proxy_dnf},
    {"proxy_environment", proxy_environment},
    {"proxy_mode", proxy_mode},
    {"registry_hosts", registry_hosts},
    {"registry_mirrors", registry_mirrors},
    {"service_cidr", service_cidr},
    {"stack_targets", stack_targets},
    {"storage_keys", storage_keys},
    {"storages", storages},
    {"time_services", time_services},
    {"toolkit_keys", toolkit_keys},
    {"toolkit_repository", toolkit_repository},
    {"virtual_address", virtual_address},
    {"virtual_interface", virtual_interface},
};

}  // namespace

std::optional<std::string> image_named(const Context& context, const std::string& key) {
  auto image = context.catalog.find(key, context.kubernetes);
  const auto at = image ? image->find('@') : std::string::npos;
  if (at == std::string::npos || !context.bundle) return image;
  const std::string tagged = image->substr(0, at);
  const auto reference = base::parse_image_reference(*image);
  const auto carries = [&](const std::string& name) {
    return std::ranges::any_of(context.bundle->files, [&](const bundle::BundleFile& file) {
      return file.kind == bundle::BundleKind::image && file.name == name;
    });
  };
  // A runtime knows a digest only if it pulled the image, or has it under that name.
  return reference && carries(base::full_name(*reference)) ? image : carries(tagged) ? tagged : image;
}

std::optional<std::string> variable(const std::string& name, const Context& context) {
  const auto* row =
      std::ranges::find_if(variable_table, [&](const VariableRow& r) { return name == r.name; });
  if (row != std::end(variable_table)) return row->value(context);
  if (name.ends_with("_image")) return image_named(context, name);
  return context.catalog.find(name, context.kubernetes);
}

std::vector<std::string> variables() {
  std::vector<std::string> names;
  for (const VariableRow& row : variable_table) names.emplace_back(row.name);
  return names;
}

namespace {

Result<ChosenVersion> choose(const std::optional<base::Version>& asked, const spec::Cluster& cluster,
                             const facts::Facts& facts, const Catalog& catalog,
                             const bundle::Bundle* bundle) {
  const auto carried = bundle ? base::Version::parse(bundle->kubernetes) : std::nullopt;
  const auto installed =
      facts.kubernetes.kubeadm ? base::Version::parse(*facts.kubernetes.kubeadm) : std::nullopt;
  const auto contradicts = [&](const base::Version& version) {
    return asked && (asked->major != version.major || asked->minor != version.minor ||
                     (asked->patch >= 0 && asked->patch != version.patch));
  };
  if (asked && asked->minor < oldest_minor && (!installed || contradicts(*installed)))
    return base::fail(base::Fault::spec,
                      fmt::format("kubernetes.version is {}: gpuadm installs Kubernetes 1.{} and newer",
                                  asked->text(), oldest_minor),
                      "omit it for the newest version that gpuadm knows");
  if (carried) {
    if (contradicts(*carried))
      return base::fail(base::Fault::spec,
                        fmt::format("kubernetes.version is {}, but the bundle {} contains {}", asked->text(),
                                    bundle->directory.string(), carried->text()),
                        "set kubernetes.version to the version in the bundle, or use another bundle");
    return ChosenVersion{*carried};
  }
  if (cluster.kubernetes.source == spec::Source::installed) {
    if (!installed)
      return base::fail(
          base::Fault::spec, "kubernetes.source is 'installed', but the host has no kubeadm",
          "install kubeadm and kubelet, or use `kubernetes: { source: packages }` or --bundle DIR");
    if (contradicts(*installed))
      return base::fail(
          base::Fault::spec,
          fmt::format("kubernetes.version is {}, but kubeadm on the host is {}", asked->text(),
                      installed->text()),
          "set kubernetes.version to the installed version, or use `kubernetes: { source: packages }`");
    return ChosenVersion{*installed};
  }
  if (asked && asked->patch >= 0) return ChosenVersion{*asked};
  // An existing version is kept unless another one is requested: running init again never upgrades.
  if (installed && !contradicts(*installed)) return ChosenVersion{*installed};
  const auto newest = catalog.find("kubernetes", asked.value_or(base::Version{9999, 0, 0}));
  const auto known = newest ? base::Version::parse(*newest) : std::nullopt;
  if (!known) return base::fail(base::Fault::bug, "playbooks/catalog.yaml has no default Kubernetes version");
  if (!asked || asked->minor == known->minor) return ChosenVersion{*known, true};
  return ChosenVersion{{asked->major, asked->minor, 0}, true};
}

}  // namespace

Result<ChosenVersion> choose_version(const spec::Cluster& cluster, const facts::Facts& facts,
                                     const Catalog& catalog, const bundle::Bundle* bundle) {
  return choose(cluster.kubernetes.version, cluster, facts, catalog, bundle);
}

Result<base::Version> kubernetes_version(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                         const facts::Facts& facts, const Catalog& catalog,
                                         const bundle::Bundle* bundle) {
  return TRY(choose(spec::kubernetes_of(cluster, decisions), cluster, facts, catalog, bundle)).version;
}

}  // namespace playbook
