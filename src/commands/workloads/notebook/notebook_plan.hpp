#pragma once

#include "gpuadm/workload/notebook.hpp"

#include "commands/workloads/service/service_plan.hpp"

namespace commands {

/// A notebook from the cluster as it is now. `replaced`: pods of its namespace that end for it.
[[nodiscard]] Result<ServicePlan> plan_notebook(const workload::NotebookRequest& request, const Hosts& hosts,
                                                ReachedCluster& cluster,
                                                const std::vector<std::string>& replaced = {});
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<ServicePlan> plan_notebook_offline(const workload::NotebookRequest& request,
                                                        const Hosts& hosts, const Common& common);

}  // namespace commands
