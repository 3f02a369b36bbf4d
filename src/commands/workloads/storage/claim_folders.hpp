#pragma once

#include "commands/workloads/storage/common.hpp"

#include <string>
#include <vector>

/// The folders of claims on hosts, before a pod mounts them.
namespace commands {

/// Names of PersistentVolumeClaims that pods of these specs mount.
[[nodiscard]] std::vector<std::string> claims_of_pod(const base::Tree& pod_spec);

/// Looks at the folders of claims of one namespace on every host of the cluster that has the storage.
/// Fault::blocked if a user could have replaced one, or while the storage is being removed. A host where the
/// share is not mounted is left out, because a pod waits there; one that does not answer is reported.
[[nodiscard]] Result<> check_claim_folders(const spec::Storage& storage, const std::string& ns,
                                           const std::vector<std::string>& claims,
                                           const spec::Cluster& cluster, session::ClusterClient& client,
                                           const Io& io);

/// The same for claims by their names, whatever storage they are on; those that are not gpuadm's are left
/// out.
[[nodiscard]] Result<> check_claims_of_pod(const std::vector<std::string>& claims, const std::string& ns,
                                           const Hosts& hosts, const spec::Cluster& cluster,
                                           session::ClusterClient& client, const Io& io);

}  // namespace commands
