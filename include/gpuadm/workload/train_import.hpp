#pragma once

#include "gpuadm/workload/train.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace workload {

/// A training job from a manifest of another system.
struct TrainImport {
  TrainJob job;
  std::string kind;                   ///< "PyTorchJob"
  std::vector<std::string> problems;  ///< "file:12:5: spec.elasticPolicy: …": why it cannot be run
  std::vector<std::string> notes;     ///< the same of fields with another effect, or none
};

/// Kinds that can be imported.
[[nodiscard]] bool is_train_manifest(const base::Tree& document);

/// Converts PyTorchJob, TFJob and MPIJob (training-operator, mpi-operator), TrainJob (Kubeflow Trainer) and
/// Job (batch/v1). Every field is used, or is in `problems` or `notes`. Fault::spec if the document is of
/// another kind. `image`: replaces the image of all containers; empty: of the manifest.
[[nodiscard]] Result<TrainImport> import_train(const base::Tree& document, std::string_view source,
                                               const std::string& image = {});

}  // namespace workload
