#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <utility>
#include <vector>

namespace playbook {

/// Arguments of a component, in order. Since v1beta4 a name may occur several times.
using Arguments = std::vector<std::pair<std::string, std::string>>;

/// The `extraArgs` format: a map before v1beta4, a list of name and value since then (kubernetes/kubernetes
/// cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go, Arg).
[[nodiscard]] base::Tree extra_args(const Arguments& arguments, const std::string& api);

/// Merges the cluster file's patch into kubeadm's ClusterConfiguration. The patch may have `extraArgs` as a
/// map or as a list: they are merged by name and written in the API version's format. The gates of
/// `feature-gates` are merged one by one. Fault::spec if this API version cannot represent an argument.
[[nodiscard]] base::Result<> merge_cluster_configuration(base::Tree& tree, const base::Tree& patch,
                                                         const std::string& api);

}  // namespace playbook
