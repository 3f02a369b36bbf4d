#pragma once

#include "commands/app.hpp"

/// `gpuadm kubeconfig`: installs a cluster's admin kubeconfig for the operator.
namespace commands {

struct KubeconfigOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< a separate file; empty: the operator's kubeconfig
  bool merge = false;            ///< explicit --merge: the default without `output`
  std::string context;           ///< name of the context; empty: the cluster's name
  bool keep_context = false;     ///< do not change the current context
};
/// Fetches admin.conf from the first control-plane node that has it, and writes it into a file of mode 0600
/// as a separate context; the original is kept as a backup. Other contexts are not changed: Fault::usage if
/// one has the same name.
[[nodiscard]] Result<Outcome> kubeconfig(const KubeconfigOptions& options, Io& io);

}  // namespace commands
