#pragma once

#include "gpuadm/session/recording.hpp"

namespace session {

/// One look at hosts and their cluster: what status shows.
struct StatusLook {
  Recording survey;
  std::string asked;  ///< the control plane whose view that is; empty: none gave one
};

/// One round trip to every host, and one more to the first control plane that answers and can give the nodes,
/// as soon as it has answered: nobody waits for the others. `seen.cluster` is the cluster. An error is for a
/// missing asset, or Ctrl-C; Fault::usage where all were reached and none is a control plane.
[[nodiscard]] Result<StatusLook> survey_cluster(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                const assets::Store& assets);

}  // namespace session
