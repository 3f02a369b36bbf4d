#pragma once

#include "checks/check.hpp"

#include <string>
#include <vector>

namespace checks {

/// What other nodes connect to, as "10250/tcp": kubernetes.io/docs/reference/networking/ports-and-protocols,
/// without what is used by the host itself, and the network plugin's own.
[[nodiscard]] std::vector<std::string> ports_between_nodes(const Subject& subject);

}  // namespace checks
