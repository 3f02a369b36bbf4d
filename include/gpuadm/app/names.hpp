#pragma once

#include <string>
#include <vector>

/// Names for completion of a command line. Reading them needs no asset.
namespace app {

/// The id of every check, in the order of `gpuadm doctor --list`.
[[nodiscard]] std::vector<std::string> check_ids();
/// Every key of the cluster file: "network.podCIDR".
[[nodiscard]] std::vector<std::string> cluster_keys();

}  // namespace app
