#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/report/finding.hpp"
#include "gpuadm/workload/train.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

/// What the checks of a training job read of the cluster, before any object is created. Nothing: not read.
struct TrainCheckInputs {
  const TrainJob& job;
  const facts::ClusterFacts& cluster;
  const GpuSupply& supply;
  std::optional<std::vector<TrainState>> existing;  ///< training jobs with this name, in all namespaces
  std::optional<std::vector<base::Tree>> claims;    ///< PersistentVolumeClaims of the namespace
  std::optional<std::vector<base::Tree>> leases;    ///< of nodes
  double read_seconds = 0;                          ///< from the clock of the cluster to the leases, at most
  std::string image_problem;  ///< why an image has an invalid name; empty: all are valid
};

/// A check of training jobs; its article is in data/checks/train.yaml.
struct TrainCheckRow {
  std::string_view id, title, why;
};
[[nodiscard]] std::span<const TrainCheckRow> train_checks();
/// Nodes that accept new pods without tolerations.
[[nodiscard]] std::vector<const facts::Node*> nodes_for_pods(const facts::ClusterFacts& cluster);

/// The GPUs that the job lacks, with their holders, if it runs as soon as others free theirs; empty: it fits
/// now, or never.
[[nodiscard]] std::string held_gpus(const TrainJob& job, const GpuSupply& supply);

/// Results of the checks `train.*`, passed ones included. Blockers: the job cannot run now.
[[nodiscard]] std::vector<report::Finding> examine_train(const TrainCheckInputs& inputs);

}  // namespace workload
