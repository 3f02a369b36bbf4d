#include "gpuadm/base/yaml.hpp"

#include "playbook/environment.hpp"
#include "playbook/gpu_nodes.hpp"
#include "playbook/hardening.hpp"
#include "playbook/kubeadm.hpp"
#include "playbook/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

/// The cluster file that the cluster is known by, without hosts and connection settings. Without the hosts,
/// "automatic" would mean something else in a later run.
Result<std::vector<Composed>> compose_cluster_file(const Context& context) {
  spec::Cluster cluster = spec::completed(context.cluster, context.decisions);
  // Hosts have the keys; the file of the operator's machine says nothing here.
  for (spec::Storage& storage : cluster.storage) storage.key_file.clear();
  if (cluster.control_plane.schedulable == spec::Schedulable::automatic)
    cluster.control_plane.schedulable =
        cluster.hosts.size() == 1 ? spec::Schedulable::yes : spec::Schedulable::no;
  base::Tree tree = spec::to_tree(cluster);
  tree.erase("hosts");
  tree.erase("ssh");
  return std::vector{
      Composed{"", "# Written by gpuadm: the cluster file of this cluster.\n" + base::yaml::write(tree),
               std::nullopt}};
}

struct Composer {
  const char* name;
  Result<std::vector<Composed>> (*compose)(const Context&);
};

constexpr Composer table[] = {
    {"admission", compose_admission},           {"authentication", compose_authentication},
    {"cluster-file", compose_cluster_file},     {"containerd-config", compose_containerd_config},
    {"crio-config", compose_crio_config},       {"crio-registries", compose_crio_registries},
    {"device-plugin", compose_device_plugin},   {"docker-daemon", compose_docker_daemon},
    {"kubeadm-config", compose_kubeadm_config},
};

}  // namespace

Result<std::vector<Composed>> compose(std::string_view name, const Context& context) {
  const auto* row = std::ranges::find_if(table, [&](const Composer& c) { return name == c.name; });
  if (row == std::end(table))
    return base::fail(base::Fault::bug, fmt::format("unknown composer: '{}'", name));
  return row->compose(context);
}

std::vector<std::string> composers() {
  std::vector<std::string> names;
  for (const Composer& composer : table) names.emplace_back(composer.name);
  return names;
}

}  // namespace playbook
