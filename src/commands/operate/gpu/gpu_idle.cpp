#include "commands/operate/gpu/gpu_idle.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/gpu_idle.hpp"

#include "commands/workloads/reach.hpp"

namespace commands {

Result<Outcome> show_idle_gpus(const Hosts& hosts, const Common& common, Format format, Io& io) {
  const auto cluster = TRY(ReachedCluster::open(hosts, common, session::Access::read_only, io));
  const std::string& kubeconfig = common.connection.kubeconfig;
  const std::string ns = kubeconfig.empty() ? "" : TRY(session::namespace_in_kubeconfig(kubeconfig));
  // Nodes have no namespace; without one, all namespaces would be asked for.
  const auto nodes = TRY(cluster->client().get({{"nodes"}, ns, {}}));
  const auto pods = TRY(cluster->client().get({{"pods"}, ns, {}}));
  const base::Time now = base::now();
  const cluster::IdleTable table = cluster::idle_table(nodes, pods, now);
  if (format == Format::json)
    io.out(base::json::write(cluster::to_tree(table)) + "\n");
  else
    io.out(cluster::to_text(table, now, io.out_style.width));
  return table.unknown.empty() ? Outcome::done : Outcome::failed;
}

}  // namespace commands
