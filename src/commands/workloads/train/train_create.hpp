#pragma once

#include "gpuadm/report/finding.hpp"

#include "commands/workloads/storage/claim.hpp"
#include "commands/workloads/train/train_options.hpp"
#include "commands/workloads/train/train_session.hpp"

#include <optional>
#include <vector>

namespace commands {

/// What was read of the cluster for a job.
struct TrainView {
  facts::ClusterFacts cluster;
  workload::GpuSupply supply;
  workload::JobForm form = workload::JobForm::indexed;
  std::optional<base::Version> oldest;  ///< of the kubelets; nothing: unknown
  std::vector<report::Finding> findings;
};
/// `created`: objects of a claim that is created with the job.
[[nodiscard]] Result<TrainView> view_for(session::ClusterClient& client, const workload::TrainJob& job,
                                         const std::vector<base::Tree>& created);

/// The checks of the job's images on every node that may run it: playbooks/read/image.sh. What a node does
/// not answer is unknown. Ranks that need the entrypoint of their image get it: workload::set_entrypoints.
[[nodiscard]] Result<std::vector<report::Finding>> examine_images(TrainSession& opened,
                                                                  workload::TrainJob& job,
                                                                  const TrainView& view);

/// With new keys for the objects of an MPI job: they are secrets.
[[nodiscard]] Result<workload::TrainContext> train_context(const workload::TrainJob& job,
                                                           workload::JobForm form,
                                                           const workload::GpuSupply& supply,
                                                           const assets::Store& assets);

/// Creates the companions of the job, except claims that an earlier job of this name has left, which are
/// taken out of it. Fault::blocked if another one exists.
[[nodiscard]] Result<> create_companions(session::ClusterClient& client, workload::TrainJob& job, Io& io);
/// Deletes the claims among them that this job has created. Also runs after Ctrl-C.
[[nodiscard]] Result<> delete_companion_claims(session::ClusterClient& client, const workload::TrainJob& job);

/// Creates Services, then the other objects with their addresses. After an error objects may be left.
[[nodiscard]] Result<> create_train_objects(session::ClusterClient& client, const workload::TrainJob& job,
                                            workload::TrainContext context);

/// The claim that is created with a training job, and that its pods mount.
struct TrainVolumePlan {
  std::optional<ClaimPlan> on_storage;  ///< of gpuadm
  std::optional<base::Tree> of_class;   ///< of a StorageClass
  std::string note;                     ///< for the operator; empty: none
  [[nodiscard]] bool is_new() const { return on_storage || of_class; }
  [[nodiscard]] std::vector<base::Tree> objects() const;
};

/// With --size: which of the volumes of --storage is a new claim, named like the job, on a storage or of a
/// StorageClass. Sets its name in the pods. A claim of an earlier job of this name on the same storage is
/// used again. Fault::blocked for a name that is unknown or ambiguous.
[[nodiscard]] Result<TrainVolumePlan> plan_train_volume(TrainRequest& request, const spec::Cluster& hosts,
                                                        session::ClusterClient& client);
/// The same without connecting to hosts: storages are those of the cluster file.
[[nodiscard]] TrainVolumePlan plan_train_volume_offline(TrainRequest& request, const spec::Cluster& cluster);

/// Creates the claim. After an error nothing is left of it.
struct TrainVolume {
  ClaimFolder folder;
};
[[nodiscard]] Result<TrainVolume> create_train_volume(const TrainVolumePlan& plan, const std::string& ns,
                                                      session::ClusterClient& client, Io& io);
/// Deletes it again, with its files unless its folder has existed before. Also runs after Ctrl-C.
[[nodiscard]] Result<> delete_train_volume(const TrainVolumePlan& plan, const TrainVolume& volume,
                                           const workload::TrainJob& job, session::ClusterClient& client);

}  // namespace commands
