#pragma once

#include <string>
#include <vector>

/// Names for completion of a command line. Reading them needs no asset.
namespace commands {

/// The id of every check, in the order of `gpuadm doctor --list`.
[[nodiscard]] std::vector<std::string> check_ids();
/// Those of training jobs: gpuadm train check.
[[nodiscard]] std::vector<std::string> train_check_ids();
/// Every key of the cluster file: "network.podCIDR".
[[nodiscard]] std::vector<std::string> cluster_keys();

}  // namespace commands
