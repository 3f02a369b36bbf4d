#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/tree.hpp"

#include <string>
#include <utility>
#include <vector>

namespace playbook {

/// Arguments of a component, in order. From v1beta4 on a name may be there several times.
using Arguments = std::vector<std::pair<std::string, std::string>>;

/// As `extraArgs` has them: a map before v1beta4, a list of name and value from then on
/// (kubernetes/kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go, Arg).
[[nodiscard]] base::Tree extra_args(const Arguments& arguments, const std::string& api);

/// Merges the cluster file's patch into kubeadm's ClusterConfiguration. The patch may have `extraArgs` as a
/// map or as a list: they are merged by name and written as the API version has them. The gates of
/// `feature-gates` are merged one by one. Fault::spec where this API version cannot express an argument.
[[nodiscard]] base::Result<> merge_cluster_configuration(base::Tree& tree, const base::Tree& patch,
                                                         const std::string& api);

}  // namespace playbook
