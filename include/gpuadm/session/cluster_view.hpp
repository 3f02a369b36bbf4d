#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/transport/fleet.hpp"

namespace session {

/// Of a control plane that is asked for its cluster: every command in the script has its own, shorter one.
inline constexpr std::chrono::seconds view_timeout{300};

/// Roles and runtime as the hosts have them: a cluster that is only named on the command line says nothing of
/// them.
void fit(spec::Cluster& cluster, const facts::Census& census, const facts::ClusterFacts& facts);

/// None of the hosts is one.
[[nodiscard]] base::Error no_control_plane();
/// The same, where that is so.
[[nodiscard]] Result<> has_control_plane(const spec::Cluster& cluster, const facts::Census& census);

/// What reads what a control plane says of its cluster.
[[nodiscard]] Result<transport::Command> view_command(const assets::Store& assets);

/// The answer to it of the first control plane that gives one. Nothing: none of the hosts that were reached
/// is one. Fault::usage where all were reached and none is.
[[nodiscard]] Result<std::optional<std::string>> view_cluster(const spec::Cluster& cluster,
                                                              const facts::Census& census,
                                                              transport::Fleet& fleet,
                                                              const assets::Store& assets,
                                                              std::chrono::seconds patience = view_timeout);

/// The cluster's facts. Where its API server does not answer it is asked again, for 180 s.
[[nodiscard]] Result<facts::ClusterFacts> see_patiently(const spec::Cluster& cluster,
                                                        const facts::Census& census, transport::Fleet& fleet,
                                                        const assets::Store& assets, Io& io);

/// Every finding of the stage `cluster`: hosts that could not be reached first, then what the checks say of
/// such an answer.
[[nodiscard]] Result<std::vector<report::Finding>> find_in_cluster(const spec::Cluster& cluster,
                                                                   const facts::Census& census,
                                                                   const std::optional<std::string>& view,
                                                                   const assets::Store& assets);

}  // namespace session
