#pragma once

#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/train.hpp"

#include "commands/workloads/train/train.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commands {

/// The connection to the cluster of one command.
struct TrainSession {
  spec::Cluster cluster;
  assets::Store assets;
  std::unique_ptr<session::Connections> connections;
  std::unique_ptr<transport::Fleet> fleet;
  std::optional<session::ClusterClient> client;
};
[[nodiscard]] Result<std::unique_ptr<TrainSession>> open_train_session(const Common& common,
                                                                       const Hosts& hosts,
                                                                       session::Access access, Io& io);

/// An empty namespace is all, an empty name all jobs.
[[nodiscard]] Result<std::vector<workload::TrainState>> read_train_states(session::ClusterClient& client,
                                                                          const std::string& ns,
                                                                          const std::string& name);
/// One job. Fault::usage if it does not exist, with the names of those that do.
[[nodiscard]] Result<workload::TrainState> read_train_state(session::ClusterClient& client,
                                                            const std::string& ns, const std::string& name);

/// Deletes all objects of a job, and waits until its pods are gone; also after Ctrl-C. Returns how many there
/// were.
[[nodiscard]] Result<std::size_t> delete_train_objects(session::ClusterClient& client, const std::string& ns,
                                                       const std::string& name, bool claims);

/// The same for the instance of a job after an error, which is returned with what could not be deleted, if
/// anything.
[[nodiscard]] base::Error withdraw_train_objects(session::ClusterClient& client,
                                                 const workload::TrainJob& job, bool claims,
                                                 base::Error error, Io& io);

/// Ends the ranks of a job that have not ended, and keeps its objects.
[[nodiscard]] Result<> end_ranks(session::ClusterClient& client, const workload::TrainState& state);

/// "2 of 3 ranks run; rank 1: Unschedulable: 0/2 nodes are available"
[[nodiscard]] std::string progress_of(const workload::TrainState& state);

}  // namespace commands
