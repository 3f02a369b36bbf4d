#pragma once

#include "gpuadm/transport/fleet.hpp"

#include "app/findings.hpp"

namespace app {

/// Every finding of the stage `cluster`: hosts that could not be reached first, then what the checks say of
/// what the first control plane that answers knows (playbooks/cluster.sh). Fault::usage where no host has an
/// administrator's kubeconfig.
[[nodiscard]] Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                                   const facts::Census& census,
                                                                   transport::Fleet& fleet,
                                                                   const assets::Store& assets);

}  // namespace app
