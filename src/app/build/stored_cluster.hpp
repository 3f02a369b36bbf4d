#pragma once

#include "gpuadm/app/app.hpp"
#include "gpuadm/assets/assets.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/transport/fleet.hpp"

#include <string>

namespace app {

/// The cluster file that gpuadm has stored on a control-plane node, without hosts and without the operator's
/// local files. Fault::blocked if there is none.
[[nodiscard]] Result<spec::Cluster> read_stored_cluster(const std::string& host, transport::Fleet& fleet,
                                                        const assets::Store& assets);

}  // namespace app
