#pragma once

#include "gpuadm/session/recording.hpp"

namespace session {

/// One survey of hosts and their cluster: the data of status.
struct StatusSurvey {
  Recording survey;
  std::string asked;                  ///< the control-plane node that described the cluster; empty: none
  std::optional<base::Error> unread;  ///< why a reachable control-plane node did not describe it
};

/// One round trip to every host, and one more to the first control-plane node that can list the nodes, as
/// soon as it has answered, without waiting for other hosts. `seen.cluster` is the cluster. An error is for a
/// missing asset, or Ctrl-C; Fault::usage if all are reachable and none is a control-plane node.
[[nodiscard]] Result<StatusSurvey> survey_cluster(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                  const assets::Store& assets);

}  // namespace session
