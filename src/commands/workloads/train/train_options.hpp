#pragma once

#include "gpuadm/workload/train.hpp"

#include "commands/workloads/train/train.hpp"

#include <string>
#include <vector>

namespace commands {

/// A job from the command line or a manifest, and the hosts of the cluster.
struct TrainRequest {
  workload::TrainJob job;
  Hosts hosts;
  std::vector<std::string> volumes;  ///< names of --storage, which the pods mount as claims
  std::string size;                  ///< of a new volume; empty: none
  std::vector<std::string> notes;    ///< fields of a manifest with another effect; what --src leaves out
};
/// Fault::usage or Fault::spec: all problems, each in a line.
[[nodiscard]] Result<TrainRequest> read_train_request(const TrainRunOptions& options);

/// The files of a folder for --src.
struct SourceFolder {
  std::vector<workload::SourceFile> files;
  std::string note;  ///< what is left out, in one line; empty: nothing
};
/// Leaves out caches, virtual environments, version control, and what may contain secrets: by its name, or
/// because it begins with a private key. `include`: patterns of what is copied anyway. Fault::usage if
/// a pattern names nothing that is left out, or if the files are larger than what a ConfigMap holds, with the
/// largest.
[[nodiscard]] Result<SourceFolder> read_source(const std::filesystem::path& folder,
                                               const std::vector<std::string>& include);

/// Names of images in a job that are invalid, with the reason; empty: none.
[[nodiscard]] std::string image_problem_of(const workload::TrainJob& job);

}  // namespace commands
