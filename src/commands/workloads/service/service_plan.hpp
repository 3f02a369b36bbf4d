#pragma once

#include "commands/workloads/reach.hpp"
#include "commands/workloads/storage/claim.hpp"

#include <optional>
#include <string>
#include <vector>

namespace commands {

/// A notebook or a served model with everything that the cluster decides except its image, and how its GPUs
/// are requested.
struct ServicePlan {
  workload::ServicePod pod;
  workload::GpuSupply supply;  ///< with the GPUs of the pods that it replaces
  workload::GpuSupply spare;   ///< without them
  workload::GpuParts parts;
  std::optional<base::Version> cuda;  ///< of the drivers; nothing: unknown
  std::optional<ClaimPlan> volume;    ///< a new claim on a storage of gpuadm, which it owns
  std::string note;                   ///< for the operator; empty: none
  bool has_health_checks = false;     ///< a node reports them
  bool lacks_storage = false;         ///< a new volume is requested, and the cluster has no place for one
  /// Whether a volume is created with it.
  [[nodiscard]] bool has_new_volume() const { return volume || !pod.size.empty(); }
  /// Its objects after those of the volume, in the order of creation.
  [[nodiscard]] std::vector<base::Tree> with_volume(std::vector<base::Tree> objects) const;
};

/// From the cluster as it is now. `replaced`: pods of its namespace that end for it.
[[nodiscard]] Result<ServicePlan> plan_service(workload::ServicePod pod, const Hosts& hosts,
                                               ReachedCluster& cluster,
                                               const std::vector<std::string>& replaced = {});
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<ServicePlan> plan_service_offline(workload::ServicePod pod, const Hosts& hosts,
                                                       const Common& common);

/// Whether its name must be free, or is that of one that is updated.
enum class NameUse { free, updated };
/// Whether it can be created with this number of pods: the namespace exists, the name is free, the GPUs and
/// the volume are there. Uses the volume of an earlier one of this name, if no other is requested.
/// Fault::blocked or usage.
[[nodiscard]] Result<> check_service(ServicePlan& plan, int pods, const Hosts& hosts, ReachedCluster& cluster,
                                     NameUse name = NameUse::free);

/// The claim of a workload on a storage, from the PersistentVolumeClaim that was created with it. Nothing if
/// it is not on a storage of gpuadm, or if the cluster no longer has that storage.
[[nodiscard]] Result<std::optional<ClaimPlan>> claim_of_service(const base::Tree& claim, const Hosts& hosts,
                                                                ReachedCluster& cluster);

}  // namespace commands
