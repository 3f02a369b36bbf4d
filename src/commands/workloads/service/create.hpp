#pragma once

#include "gpuadm/kube/verdict.hpp"

#include "commands/workloads/service/service_plan.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace commands {

/// How a workload is planned.
struct ServicePlanning {
  const NamedService& service;
  std::string size;  ///< of the volume to create; empty: none
  int pods = 1;
  Consent consent = Consent::ask;  ///< to a storage for the first volume of the cluster
  /// From the cluster as it is now. `storage`: for the volume; empty: as requested.
  std::function<Result<ServicePlan>(const std::string& storage)> plan;
};
/// A plan that can be executed. A cluster without storage gets one for the volume, after a question; then the
/// cluster is reached again.
[[nodiscard]] Result<ServicePlan> plan_and_check(const ServicePlanning& planning,
                                                 std::unique_ptr<ReachedCluster>& cluster, Io& io);

/// What is created, and how long to wait for it.
struct ServiceCreation {
  const ServicePlan& plan;
  std::vector<base::Tree> objects;  ///< in the order of creation
  const NamedService& service;
  std::vector<std::string> claims = {};  ///< that it mounts in addition to its volume
  std::chrono::seconds timeout{1800};
  bool keep = false;  ///< the objects, if it does not become ready
  /// As AwaitedPod::running.
  std::function<std::string(const kube::PodVerdict&)> running = {};
  /// Called once it is ready, with its node. Fault::unreachable, Fault::timeout: it did not answer, and
  /// remains.
  std::function<Result<>(const std::string& node)> proof = {};
};

/// Creates the objects, and waits until it is ready. If it does not become ready, or after Ctrl-C, deletes
/// what was created; if it answers the proof wrongly, all but a new volume. Returns its node.
[[nodiscard]] Result<std::string> create_service(const ServiceCreation& creation, ReachedCluster& cluster,
                                                 Io& io);

/// Prints objects as a stream of YAML documents.
void print_objects(const std::vector<base::Tree>& objects, const Io& io);

/// Whether a failed request may have changed the cluster: its answer did not arrive.
[[nodiscard]] bool is_uncertain(base::Fault fault);

}  // namespace commands
