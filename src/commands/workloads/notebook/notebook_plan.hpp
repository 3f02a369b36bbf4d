#pragma once

#include "gpuadm/workload/notebook.hpp"

#include "commands/workloads/service/service_plan.hpp"

namespace commands {

/// A notebook from the cluster as it is now.
[[nodiscard]] Result<ServicePlan> plan_notebook(const workload::NotebookRequest& request, const Hosts& hosts,
                                                ReachedCluster& cluster);
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<ServicePlan> plan_notebook_offline(const workload::NotebookRequest& request,
                                                        const Hosts& hosts, const Common& common);

}  // namespace commands
