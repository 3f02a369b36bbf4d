#include "gpuadm/base/text.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/spec/network_plugins.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using spec::Supply;

/// containerd, which gpuadm installs from a bundle file by file.
bool has_runtime(const bundle::Bundle& bundle) {
  return std::ranges::any_of(bundle.files, [](const bundle::BundleFile& file) {
    return file.kind == bundle::BundleKind::runtime && file.target.ends_with("/containerd");
  });
}

/// A package without a name may be the toolkit: only the host reads a package's name.
bool has_toolkit(const bundle::Bundle& bundle, const facts::Os& os) {
  return std::ranges::any_of(bundle.files, [&](const bundle::BundleFile& file) {
    return file.kind == bundle::BundleKind::package && playbook::is_for(file, os) &&
           (file.name.empty() || file.name.find("nvidia-container-toolkit") != std::string::npos);
  });
}

Supply supply(const char* phase, const plan::Choice& choice, const bundle::Bundle* bundle, bool carried) {
  if (!plan::is_chosen(phase, choice)) return Supply::skipped;
  if (!bundle) return Supply::repositories;
  return carried ? Supply::bundle : Supply::none;
}

}  // namespace

base::Result<> decide_drivers(const spec::Cluster& cluster, const facts::Census& census,
                              const assets::Store& assets, spec::Decisions& decisions) {
  if (cluster.gpu.driver != spec::DriverPolicy::install) return {};
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  for (const spec::Host& host : cluster.hosts) {
    const facts::Facts& facts = *census.at(host.name);
    if (facts.nvidia.pci_gpus.empty()) continue;
    const auto choice = checks::choose_driver(facts.nvidia.pci_gpus, cluster.gpu.driver_branch, *data);
    if (!choice)
      return base::fail(choice.error().fault, fmt::format("{}: {}", host.name, choice.error().what),
                        choice.error().hint);
    spec::HostDecisions& decided = decisions.hosts[host.name];
    decided.driver_branch = choice->branch;
    decided.driver_modules = choice->modules;
  }
  return {};
}

base::Result<> require_network_images(const spec::Cluster& cluster, const playbook::Catalog& catalog,
                                      const base::Version& kubernetes, const bundle::Bundle* bundle,
                                      const plan::Choice& choice) {
  if (!bundle || !plan::is_chosen("network/cluster", choice)) return {};
  const spec::NetworkPluginRow& plugin = spec::row_of(cluster.network.plugin);
  std::vector<std::string> missing;
  for (const std::string_view key : base::words(plugin.images)) {
    const auto image = catalog.find(std::string(key), kubernetes);
    const auto carries = [&](const bundle::BundleFile& file) {
      return file.kind == bundle::BundleKind::image &&
             (file.name == *image || file.name.starts_with(*image + "@"));
    };
    if (image && std::ranges::none_of(bundle->files, carries)) missing.push_back(*image);
  }
  if (missing.empty()) return {};
  return base::fail(
      base::Fault::blocked,
      fmt::format("the bundle {} lacks images of the network plugin {}: {}", bundle->directory.string(),
                  plugin.name, base::join(missing, ", ")),
      "create the bundle with this cluster file (gpuadm bundle create --for FILE -o DIR), or set "
      "network.plugin: bridge, which needs no image, or: --skip-phases network/cluster");
}

void decide_supplies(const spec::Cluster& cluster, const facts::Census& census, const bundle::Bundle* bundle,
                     const plan::Choice& choice, spec::Decisions& decisions) {
  decisions.without_dns = bundle && std::ranges::find(bundle->absent, "coredns") != bundle->absent.end();
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    const facts::Os& os = facts->second->os;
    spec::HostDecisions& decided = decisions.hosts[host.name];
    decided.programs_in_bundle = bundle && playbook::has_packages(*bundle, os);
    // Bundles contain no Docker (playbooks/runtime/install.yaml).
    decided.runtime =
        supply("runtime/install", choice, bundle,
               bundle && cluster.runtime.engine == spec::Engine::containerd && has_runtime(*bundle));
    // dpkg installs them: playbooks/gpu/toolkit.yaml has no other script.
    decided.toolkit = supply("gpu/toolkit", choice, bundle,
                             bundle && os.family == facts::Family::debian && has_toolkit(*bundle, os));
  }
}

}  // namespace session
