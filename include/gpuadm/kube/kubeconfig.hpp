#pragma once

#include "gpuadm/base/tree.hpp"

#include <optional>
#include <string>

namespace kube {

/// What gpuadm uses of the current context of a kubeconfig. Everything else is read by kubectl.
struct CurrentContext {
  std::string cluster, user, ns;  ///< names; an empty namespace is "default"
  std::string certificate;        ///< of the client: PEM; empty: in another file, or none
  std::string authority;          ///< of the cluster: PEM; empty: in another file, or none
};
/// Nothing: it has no current context, or is not a kubeconfig.
[[nodiscard]] std::optional<CurrentContext> current_context(const base::Tree& kubeconfig);

}  // namespace kube
