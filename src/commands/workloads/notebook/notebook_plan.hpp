#pragma once

#include "commands/workloads/reach.hpp"
#include "commands/workloads/storage/claim.hpp"

#include <string>
#include <vector>

namespace commands {

/// A notebook with everything that the cluster decides, and how its GPUs are requested.
struct NotebookPlan {
  workload::Notebook notebook;
  workload::GpuSupply supply;
  workload::GpuParts parts;
  std::optional<ClaimPlan> volume;  ///< a new claim on a storage of gpuadm, which the notebook owns
  std::string note;                 ///< for the operator; empty: none
  bool lacks_storage = false;       ///< a new volume is requested, and the cluster has no place for one
  /// Whether a volume is created with it.
  [[nodiscard]] bool has_new_volume() const { return volume || !notebook.size.empty(); }
  /// The objects in the order of creation.
  [[nodiscard]] std::vector<base::Tree> objects(const base::Secret& token) const;
};

/// From the cluster as it is now.
[[nodiscard]] Result<NotebookPlan> plan_notebook(const workload::NotebookRequest& request, const Hosts& hosts,
                                                 ReachedCluster& cluster);
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<NotebookPlan> plan_notebook_offline(const workload::NotebookRequest& request,
                                                         const Hosts& hosts, const Common& common);

/// Whether it can be created: the namespace exists, the name is free, the GPUs and the volume are there. Uses
/// the volume of an earlier notebook of this name, if no other is requested. Fault::blocked or usage.
[[nodiscard]] Result<> check_notebook(NotebookPlan& plan, const Hosts& hosts, ReachedCluster& cluster);

/// The claim of a notebook on a storage, from the PersistentVolumeClaim that was created with it. Nothing if
/// it is not on a storage of gpuadm, or if the cluster no longer has that storage.
[[nodiscard]] Result<std::optional<ClaimPlan>> claim_of_notebook(const base::Tree& claim, const Hosts& hosts,
                                                                 ReachedCluster& cluster);

}  // namespace commands
