#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/workload/gpus.hpp"

#include "commands/workloads/reach.hpp"
#include "commands/workloads/service/service_plan.hpp"

#include <string>

namespace commands {

/// The storage that gpuadm makes for the first volume of a cluster without any: a folder on one host.
struct FirstStorage {
  std::string name = "local", path = "/var/lib/gpuadm-storage";
  std::string host;
  unsigned long long free = 0;  ///< bytes there
};

/// The host with the most free space, of those whose node accepts pods now and has the requested GPUs free:
/// the volume ties the pod to it. Fault::blocked, with the reason for each host, if none has `bytes` free.
[[nodiscard]] Result<FirstStorage> place_first_storage(const facts::Census& census,
                                                       const facts::ClusterFacts& cluster,
                                                       const workload::GpuSupply& supply,
                                                       const workload::GpuRequest& gpus,
                                                       unsigned long long bytes);

/// A request for a new volume of this size in a cluster without default StorageClass: the name of its only
/// storage, or of one that is made now, after a question. Fault::blocked, with the command to type, if it may
/// not ask.
[[nodiscard]] Result<std::string> make_first_storage(const std::string& size, const ServicePlan& plan,
                                                     const NamedService& options, Consent consent,
                                                     ReachedCluster& cluster, Io& io);

}  // namespace commands
