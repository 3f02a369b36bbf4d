#pragma once

#include "commands/workloads/storage/common.hpp"

#include <optional>
#include <string>
#include <vector>

/// A claim on a storage of gpuadm, for `gpuadm storage claim` and for workloads that get one.
namespace commands {

struct ClaimPlan {
  spec::Storage storage;
  workload::StorageClaim claim;
  std::string host;  ///< where its folder is made
  std::string node;  ///< that alone has the storage: the value of kubernetes.io/hostname; empty: all have it
  [[nodiscard]] std::vector<base::Tree> objects() const { return workload::objects_of(storage, claim, node); }
};

/// Fault::usage if the host of a local storage is not among the hosts, Fault::blocked if it is not a node.
[[nodiscard]] Result<ClaimPlan> plan_claim(const spec::Cluster& cluster, const spec::Storage& storage,
                                           workload::StorageClaim claim, session::ClusterClient& client);

struct ClaimFolder {
  bool existed = false;           ///< with the files of an earlier claim
  std::optional<long long> free;  ///< bytes; nothing: unknown
};
/// Makes the folder, and deletes the volume of an earlier claim of this name. The caller creates the objects.
[[nodiscard]] Result<ClaimFolder> make_claim_folder(const ClaimPlan& plan, session::ClusterClient& client);
/// What the operator should know of the folder; empty: nothing.
[[nodiscard]] std::string note_of(const ClaimPlan& plan, const ClaimFolder& folder);

/// Makes the folder of the default StorageClass on a local storage. Returns its path.
[[nodiscard]] Result<std::string> make_class_folder(const ClaimPlan& plan, session::ClusterClient& client);
/// Deletes it, if it has no volumes. Returns whether it is still there. Also runs after Ctrl-C.
[[nodiscard]] Result<bool> drop_class_folder(const ClaimPlan& plan, session::ClusterClient& client);

/// Deletes the volume of a claim that was deleted, and its folder: only if it is empty, or with all files.
/// Also runs after Ctrl-C.
enum class ClaimFiles { kept, deleted };
[[nodiscard]] Result<> remove_volume(const ClaimPlan& plan, ClaimFiles files, session::ClusterClient& client);

/// After the objects of a claim could not be created, of which none is left: deletes its folder if it is new
/// and empty, and if nobody else has created the claim meanwhile. Best effort.
void drop_claim_folder(const ClaimPlan& plan, const ClaimFolder& folder, session::ClusterClient& client);

/// Fault::usage if the namespace has a claim of that name, whatever made it.
[[nodiscard]] Result<> check_new_claim(const workload::StorageClaim& claim, session::ClusterClient& client);

/// With a kubeconfig: a claim whose volume a StorageClass makes, because storages of gpuadm are folders of
/// hosts. Fault::blocked with the names of the classes.
[[nodiscard]] Result<Outcome> claim_from_class(const workload::StorageClaim& claim,
                                               const std::string& storage_class, Format format,
                                               session::ClusterClient& client, Io& io);

/// The cluster with its storages, as far as a cluster file is known: the operator's, or the one on the
/// control plane. With a kubeconfig, none is known.
[[nodiscard]] Result<spec::Cluster> with_known_storages(const Hosts& hosts, const spec::Cluster& cluster,
                                                        session::ClusterClient& client);

}  // namespace commands
