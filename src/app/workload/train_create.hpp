#pragma once

#include "gpuadm/report/finding.hpp"

#include "app/workload/train_options.hpp"
#include "app/workload/train_session.hpp"

#include <vector>

namespace app {

/// What was read of the cluster for a job.
struct TrainView {
  facts::ClusterFacts cluster;
  workload::GpuSupply supply;
  workload::JobForm form = workload::JobForm::indexed;
  std::vector<report::Finding> findings;
};
[[nodiscard]] Result<TrainView> view_for(session::ClusterClient& client, const workload::TrainJob& job);

/// Objects and the keys in them, which must not be recorded. Without a view: for a cluster with a device
/// plugin and Kubernetes 1.28 or later.
[[nodiscard]] Result<workload::TrainContext> train_context(const workload::TrainJob& job,
                                                           const TrainView* view,
                                                           const assets::Store& assets);

/// Creates Services, then the other objects with their addresses. After an error objects may be left.
[[nodiscard]] Result<> create_train_objects(session::ClusterClient& client, const workload::TrainJob& job,
                                            workload::TrainContext context);

}  // namespace app
