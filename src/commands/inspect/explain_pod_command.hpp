#pragma once

#include "commands/app.hpp"

/// `gpuadm explain pod`: why a pod does not run.
namespace commands {

struct ExplainPodOptions {
  Common common;
  Hosts hosts;
  std::string pod;  ///< "[NAMESPACE/]NAME" of a pod, notebook, training job or controller
  Format format = Format::text;
};
/// Prints the first broken link between the creation of a pod and its work (docs/howto/pod-does-not-run.md).
/// Changes nothing. Outcome::failed if the pod neither runs nor has completed. Fault::usage if nothing has
/// the name, with the nearest, or if no host is a control-plane node.
[[nodiscard]] Result<Outcome> explain_pod(const ExplainPodOptions& options, Io& io);

}  // namespace commands
