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
  std::vector<std::string> problems;  ///< "file:12:5: spec.suspend: …": why it cannot be run
  std::vector<std::string> notes;     ///< the same of fields with another effect, or none
};

struct ImportOptions {
  std::string image;         ///< replaces the image of the containers that train; empty: of the manifest
  std::string suffix = "1";  ///< of a name that is generated
  std::string queue = "";    ///< in which the job is to wait; empty: of its label
};
/// Converts PyTorchJob, TFJob, MPIJob and JAXJob (training-operator, mpi-operator), TrainJob (Kubeflow
/// Trainer), a JobSet with one replicated job, and Job (batch/v1) with the ConfigMaps, Secrets, Services,
/// claims and runtimes in the same file. Every field and every document is used, or is in `problems` or
/// `notes`. Fault::spec if no document is a training job.
[[nodiscard]] Result<TrainImport> import_train(const std::vector<base::Tree>& documents,
                                               std::string_view source, const ImportOptions& options = {});

/// The documents of a file of manifests, without empty ones. Fault::spec if it is not YAML, or a template
/// which another program must render first: Helm, Jinja, Jsonnet, envsubst, or a person. Braces in scripts
/// and in data are text.
[[nodiscard]] Result<std::vector<base::Tree>> read_manifests(std::string_view text, std::string_view source);

}  // namespace workload
