#pragma once

#include "gpuadm/workload/notebook.hpp"

#include "commands/workloads/reach.hpp"

#include <chrono>

namespace commands {

struct NotebookCreateOptions {
  Common common;
  Hosts hosts;
  workload::NotebookRequest request;
  bool yaml = false;               ///< print the objects instead of creating them
  bool offline = false;            ///< with `yaml`: connect to no host
  bool keep = false;               ///< keep the objects if it does not become ready
  bool tunnel = false;             ///< open a tunnel once it is ready
  Consent consent = Consent::ask;  ///< to a storage for the first volume of the cluster
  std::chrono::seconds timeout{1800};
};

/// Creates a notebook, waits until its web server responds, and shows how to open it. If it does not become
/// ready, or after Ctrl-C, deletes what was created: Outcome::failed or interrupted. Fault::blocked, with
/// nothing created, if the name is taken or the GPUs are not free.
[[nodiscard]] Result<Outcome> notebook_create(const NotebookCreateOptions& options, Io& io);

}  // namespace commands
