#pragma once

#include "gpuadm/app/train.hpp"
#include "gpuadm/workload/train.hpp"

#include <string>
#include <vector>

namespace app {

/// A job from the command line or a manifest, and the hosts of the cluster.
struct TrainRequest {
  workload::TrainJob job;
  Hosts hosts;
  std::vector<std::string> volumes;  ///< names of --storage, which the pods mount as claims
  std::string size;                  ///< of a new volume; empty: none
  std::vector<std::string> notes;    ///< of a manifest: fields with another effect
};
/// Fault::usage or Fault::spec: all problems, each in a line.
[[nodiscard]] Result<TrainRequest> read_train_request(const TrainRunOptions& options);

/// The files of a folder for --src: without .git, caches and virtual environments. Fault::usage if they are
/// larger than what a ConfigMap holds, with the largest.
[[nodiscard]] Result<std::vector<workload::SourceFile>> read_source(const std::filesystem::path& folder);

/// Names of images in a job that are invalid, with the reason; empty: none.
[[nodiscard]] std::string image_problem_of(const workload::TrainJob& job);

}  // namespace app
