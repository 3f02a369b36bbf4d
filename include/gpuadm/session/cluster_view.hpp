#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

/// Time limit for reading the cluster from a control-plane node: each command in the script has a shorter
/// one.
inline constexpr std::chrono::seconds view_timeout{300};

/// The cluster with roles and runtime from the facts of the hosts: one that is given only on the command line
/// has no settings for them.
[[nodiscard]] spec::Cluster fitted(spec::Cluster cluster, const facts::Census& census,
                                   const facts::ClusterFacts& facts);

/// Error if none of the hosts is a control-plane node.
[[nodiscard]] base::Error no_control_plane();
/// The same, if that is the case.
[[nodiscard]] Result<> has_control_plane(const spec::Cluster& cluster, const facts::Census& census);

/// The command that reads the cluster from a control-plane node.
[[nodiscard]] Result<transport::Command> view_command(const assets::Store& assets);

/// The output of the first control-plane node that has one. Nothing: none of the reachable hosts is a
/// control-plane node. Fault::usage if all are reachable and none is. `purpose`: of playbooks/cluster.sh.
[[nodiscard]] Result<std::optional<std::string>> view_cluster(const spec::Cluster& cluster,
                                                              const facts::Census& census,
                                                              transport::Fleet& fleet,
                                                              const assets::Store& assets,
                                                              std::chrono::seconds patience = view_timeout,
                                                              const std::string& purpose = {});

/// The cluster's facts. If its API server does not respond, retries for up to 180 s.
[[nodiscard]] Result<facts::ClusterFacts> read_cluster_with_retry(const spec::Cluster& cluster,
                                                                  const facts::Census& census,
                                                                  transport::Fleet& fleet,
                                                                  const assets::Store& assets, Io& io,
                                                                  const std::string& purpose = {});

/// Every finding of the stage `cluster`: unreachable hosts first, then the results of the checks.
[[nodiscard]] Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                                   const facts::Census& census,
                                                                   const std::optional<std::string>& view,
                                                                   const assets::Store& assets);

}  // namespace session
