#pragma once

#include "gpuadm/app/app.hpp"

/// `gpuadm kubeconfig`: a cluster's administrator's kubeconfig, for the operator.
namespace app {

struct KubeconfigOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< a file of its own; empty: into the operator's
  bool merge = false;            ///< said: as it is without `output`
  std::string context;           ///< its name; empty: the cluster's
  bool keep_context = false;     ///< the current context stays
};
/// Fetches admin.conf from the first control plane that has it, and writes it into a file of mode 0600 as a
/// context of its own; what the file held before is kept beside it. Contexts of others are not touched:
/// Fault::usage where one has the name.
[[nodiscard]] Result<Outcome> kubeconfig(const KubeconfigOptions& options, Io& io);

}  // namespace app
