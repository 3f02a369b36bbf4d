#pragma once

#include "gpuadm/app/storage.hpp"
#include "gpuadm/session/cluster_client.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/storage.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// Where a cluster's storages are described: the operator's cluster file, or the one on the control plane.
struct StorageSource {
  spec::Cluster cluster;
  std::string file;  ///< text of the operator's file; empty: the stored one is used
};

/// Fault::usage if hosts are given in addition to a file: a storage is on all of its hosts.
[[nodiscard]] Result<> check_all_hosts(const Hosts& hosts);

/// The cluster of the command line with the storages of its file, or of the file on the control plane.
[[nodiscard]] Result<StorageSource> read_storages(const Hosts& hosts, spec::Cluster cluster,
                                                  const std::string& control_plane, transport::Fleet& fleet,
                                                  const assets::Store& assets);

/// The storage of that name; Fault::usage with the existing ones.
[[nodiscard]] Result<spec::Storage> storage_named(const spec::Cluster& cluster, const std::string& name);

/// The claims of gpuadm, of one storage or of all.
[[nodiscard]] Result<std::vector<workload::ClaimOnStorage>> read_claims(session::ClusterClient& client,
                                                                        const std::string& storage = {});

/// Writes a changed cluster file: a symbolic link is kept, and so is the file's mode. Fault::blocked if the
/// file is no longer `before`.
[[nodiscard]] Result<> write_cluster_file(const std::filesystem::path& file, const std::string& before,
                                          const std::string& after);

}  // namespace app
