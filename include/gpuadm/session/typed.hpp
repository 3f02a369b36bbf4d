#pragma once

#include "gpuadm/session/options.hpp"

#include <string>
#include <vector>

namespace session {

/// The arguments that a suggested command needs to select the same hosts, each preceded by a space and quoted
/// if necessary: " gpu1 -f cluster.yaml --user ubuntu". Empty: this machine.
[[nodiscard]] std::string typed(const Hosts& hosts, const Connection& connection);

/// " -f cluster.yaml" if the command line has a cluster file; otherwise empty.
[[nodiscard]] std::string file_option(const std::vector<std::string>& command);

}  // namespace session
