#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/migrate.hpp"
#include "gpuadm/spec/selected.hpp"

#include "spec/cluster_fields.hpp"
#include "spec/environment.hpp"
#include "spec/formats.hpp"
#include "spec/gpu.hpp"
#include "spec/hosts.hpp"
#include "spec/listed/served_fields.hpp"
#include "spec/listed/storage_fields.hpp"
#include "spec/listed/user_fields.hpp"
#include "spec/network.hpp"
#include "spec/patches.hpp"

namespace spec {

namespace {

/// Which hosts of a cluster a file lists.
enum class ListedHosts { all, some };

Result<Cluster> parse_listed(std::string_view yaml, std::string_view source, ListedHosts listed) {
  Problems problems(source);
  const Tree file = TRY(base::yaml::read(yaml, source, problems));
  Cluster cluster;
  if (file.is_map())
    read_fields(file, "", cluster_fields(), cluster, problems);
  else
    add_unexpected(problems, file, "cluster file", "map");
  for (const auto& [key, what] :
       {std::pair("apiVersion", fmt::format("must be {}", current_format)),
        std::pair("kind", std::string("must be GpuCluster")),
        std::pair("hosts", std::string("a list of machines; for this one, hosts: [{ local: true }]"))})
    if (const Tree* value = file.find(key); file.is_map() && (!value || value->is_null()))
      problems.add(value ? value->mark : file.mark, fmt::format("{}: missing: {}", key, what));

  complete_endpoint(cluster);
  static const Tree no_hosts;
  const Tree* list = file.find("hosts");
  complete_hosts(cluster, list ? *list : no_hosts);
  judge_hosts(cluster, list ? *list : no_hosts, problems);
  if (listed == ListedHosts::all) {
    judge_control_planes(cluster, list ? *list : no_hosts, problems);
    judge_storage_hosts(cluster, file, problems);
  }
  judge_networks(cluster, file, problems);
  judge_virtual_address(cluster, file, problems);
  judge_gpus(cluster, file, problems);
  check_environment(cluster, file, problems);
  judge_patches(file, problems);
  judge_storage(cluster, file, problems);
  judge_users(cluster, file, problems);
  judge_served_models(cluster, file, problems);
  if (!problems.empty()) {
    const auto newer = migrate(yaml, source);
    return std::unexpected(problems.error(
        newer && !newer->changes.empty()
            ? fmt::format("{}; gpuadm config migrate rewrites the file", base::join(newer->changes, "; "))
            : "gpuadm config explain lists all keys"));
  }
  return cluster;
}

}  // namespace

Result<Cluster> parse(std::string_view yaml, std::string_view source) {
  return parse_listed(yaml, source, ListedHosts::all);
}

Result<Cluster> parse_selected(std::string_view yaml, std::string_view source) {
  return parse_listed(yaml, source, ListedHosts::some);
}

base::Tree to_tree(const Cluster& cluster) {
  return write_fields(cluster, "", cluster_fields());
}

const std::vector<Key>& keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    explain_fields(cluster_fields(), all);
    explain_fields(storage_fields(), all);
    explain_fields(user_fields(), all);
    explain_fields(served_fields(), all);
    explain_fields(host_fields(), all);
    return all;
  }();
  return keys;
}

}  // namespace spec
