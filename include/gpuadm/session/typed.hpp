#pragma once

#include "gpuadm/session/options.hpp"

#include <string>
#include <vector>

namespace session {

/// What a suggested command needs to reach the same hosts, each word behind a blank and quoted where it must
/// be: " gpu1 -f cluster.yaml --user ubuntu". Empty: this machine.
[[nodiscard]] std::string typed(const Hosts& hosts, const Connection& connection);

/// " -f cluster.yaml" where the command line names a cluster file; else empty.
[[nodiscard]] std::string file_option(const std::vector<std::string>& command);

}  // namespace session
