#pragma once

#include "gpuadm/session/cluster.hpp"

namespace session {

/// Replaces existing objects as a whole. One with a resourceVersion that is not the current one is an error.
/// Errors and `purpose`: as for ClusterClient::create.
[[nodiscard]] Result<> replace(ClusterClient& client, const std::vector<base::Tree>& objects,
                               transport::Purpose purpose = transport::Purpose::work);

}  // namespace session
