#pragma once

#include "app/workload/reach.hpp"

#include <string>
#include <vector>

namespace app {

/// A notebook with everything that the cluster decides, and how its GPUs are requested.
struct NotebookPlan {
  workload::Notebook notebook;
  workload::GpuSupply supply;
  workload::GpuParts parts;
  std::string note;  ///< for the operator; empty: none
};

/// From the cluster as it is now.
[[nodiscard]] Result<NotebookPlan> plan_notebook(const workload::NotebookRequest& request,
                                                 ReachedCluster& cluster);
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<NotebookPlan> plan_notebook_offline(const workload::NotebookRequest& request,
                                                         const Hosts& hosts, const Common& common);

/// Whether it can be created: the namespace exists, the name is free, the GPUs and the volume are there. Uses
/// the volume of an earlier notebook of this name, if no other is requested. Fault::blocked or usage.
[[nodiscard]] Result<> check_notebook(NotebookPlan& plan, ReachedCluster& cluster);

}  // namespace app
