#include "app/build/stored_cluster.hpp"

#include "gpuadm/cluster/adopted.hpp"
#include "gpuadm/session/ask.hpp"

#include <fmt/format.h>

namespace app {

Result<spec::Cluster> read_stored_cluster(const std::string& host, transport::Fleet& fleet,
                                          const assets::Store& assets) {
  constexpr const char* file = "/etc/kubernetes/gpuadm/cluster.yaml";
  const transport::Exit exit = TRY(session::ask(
      host, {.label = "read the cluster file", .asset = "playbooks/read/cluster-file.sh"}, fleet, assets));
  if (exit.out.empty())
    return base::fail(base::Fault::blocked,
                      fmt::format("{} has no stored cluster file: {} does not exist", host, file),
                      "create it with gpuadm adopt --record, or use a cluster file with all hosts: -f "
                      "cluster.yaml");
  spec::Cluster cluster = TRY(cluster::parse_intent(exit.out, host + ":" + file));
  // A host must not decide which of the operator's files is read and sent. The login file of a proxy is
  // reported by those who need it.
  for (spec::Storage& storage : cluster.storage) storage.key_file.clear();
  cluster.hosts.clear();
  return cluster;
}

}  // namespace app
