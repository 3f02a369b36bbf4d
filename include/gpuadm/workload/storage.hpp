#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

using base::Result;

/// The label of claims and volumes with the name of their storage.
inline constexpr std::string_view storage_label = "gpuadm.io/storage";

/// Files for pods on a storage.
struct StorageClaim {
  std::string name;        ///< of the PersistentVolumeClaim
  std::string ns;          ///< namespace
  std::string size;        ///< "10Gi"; Kubernetes matches it, and nothing enforces it
  std::string owner;       ///< "UID:GID"; empty: everybody may write
  base::Tree labels = {};  ///< of the workload that owns it; null: those of a claim of its own
};

/// Fault::usage for an invalid name, namespace, size or owner.
[[nodiscard]] Result<> check_claim(const StorageClaim& claim);
/// The claim's folder on hosts, below the storage's marker:
/// /srv/gpuadm/data/gpuadm-data/claims/default/models
[[nodiscard]] std::string folder_of(const spec::Storage& storage, const StorageClaim& claim);
/// The mode of the folder: only its owner and group, or everybody. Folders above it are root's.
[[nodiscard]] std::string mode_of(const StorageClaim& claim);
/// The name of its PersistentVolume: "gpuadm-data.default.models". The names of storages and namespaces have
/// no dots.
[[nodiscard]] std::string volume_of(const spec::Storage& storage, const StorageClaim& claim);

/// The PersistentVolume and the PersistentVolumeClaim, bound to each other. The volume is a hostPath of type
/// Directory: on a host where the share is not mounted, the folder does not exist and a pod waits. `node`:
/// the value of the label kubernetes.io/hostname of the host with local storage.
[[nodiscard]] std::vector<base::Tree> objects_of(const spec::Storage& storage, const StorageClaim& claim,
                                                 const std::string& node);

/// A PersistentVolumeClaim of a StorageClass, whose provisioner makes the volume. `mode`: "ReadWriteOnce".
[[nodiscard]] base::Tree claim_of_class(const StorageClaim& claim, const std::string& storage_class,
                                        const std::string& mode);

/// What `--storage NAME` of a workload may name.
struct VolumeNames {
  std::vector<std::string> claims;    ///< PersistentVolumeClaims of the namespace
  std::vector<std::string> storages;  ///< of gpuadm
  std::vector<std::string> classes;   ///< StorageClasses
};
enum class VolumeKind { claim, storage, storage_class };
/// What a name is: without a size an existing claim, with one a storage or a StorageClass for a new claim, or
/// else a claim. Fault::blocked with the names of all three kinds if it is none of them, ambiguous, or needs
/// a size.
enum class VolumeSize { given, missing };
[[nodiscard]] Result<VolumeKind> volume_kind(const std::string& name, VolumeSize size,
                                             const VolumeNames& names, const std::string& ns);
/// The names of the objects of a kind.
[[nodiscard]] std::vector<std::string> names_in(const std::vector<base::Tree>& objects,
                                                std::string_view kind);

/// A claim on a storage, as the cluster has it.
struct ClaimOnStorage {
  std::string name, ns, storage, size, phase;
  [[nodiscard]] std::string full() const { return ns + "/" + name; }
};
/// The claims of gpuadm among PersistentVolumeClaims.
[[nodiscard]] std::vector<ClaimOnStorage> claims_in(const std::vector<base::Tree>& objects);

/// "default/train-0": pods that use a claim and have not ended.
[[nodiscard]] std::vector<std::string> pods_with(const std::vector<base::Tree>& pods,
                                                 const ClaimOnStorage& claim);

/// The node of a host, by its name and its address: the value of the label kubernetes.io/hostname. Nothing:
/// no node, or several.
[[nodiscard]] std::optional<std::string> node_label_of(const spec::Host& host,
                                                       const std::vector<base::Tree>& nodes);

/// Nodes that none of these machine ids has.
[[nodiscard]] std::vector<std::string> nodes_without(const std::vector<std::string>& machine_ids,
                                                     const std::vector<base::Tree>& nodes);

}  // namespace workload
