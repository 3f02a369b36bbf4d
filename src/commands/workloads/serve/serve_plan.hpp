#pragma once

#include "gpuadm/workload/serve.hpp"

#include "commands/workloads/service/service_plan.hpp"

#include <filesystem>
#include <string>

namespace commands {

/// A served model with everything that the cluster decides.
struct ServePlan {
  ServicePlan service;
  workload::ModelServer server;
  bool is_on_storage = false;     ///< the claim of its model is on a storage of gpuadm
  std::uint64_t model_bytes = 0;  ///< of its weights; 0: not known
  [[nodiscard]] std::vector<base::Tree> objects(const workload::ServeKeys& keys) const {
    return service.with_volume(workload::objects_of(server, service.parts, keys));
  }
};

/// Fault::usage for what needs no cluster.
[[nodiscard]] Result<workload::ModelServer> read_request(const workload::ServeRequest& request,
                                                         const assets::Store& assets);
/// From the cluster as it is now: the claim of the model is resolved. `replaced`: pods that end for it.
[[nodiscard]] Result<ServePlan> plan_serve(const workload::ServeRequest& request, const Hosts& hosts,
                                           ReachedCluster& cluster,
                                           const std::vector<std::string>& replaced = {});
/// Without connecting to hosts: from the cluster file, if there is one, and defaults.
[[nodiscard]] Result<ServePlan> plan_serve_offline(const workload::ServeRequest& request, const Hosts& hosts,
                                                   const Common& common);

}  // namespace commands
