#pragma once

#include "gpuadm/session/findings.hpp"

#include <map>
#include <string>

namespace session {

/// Kubernetes state of a host.
enum class HostState { fresh, unfinished, worker, control_plane };
/// fresh: no Kubernetes; unfinished: kubeadm init or join has started and not completed.
[[nodiscard]] HostState state_of(const facts::Facts& facts);

/// The stages that doctor checks without --stage, by reachable host: "preflight" for a fresh host, "node" for
/// a worker, "node,cluster" for a control-plane node, all for an unfinished one.
[[nodiscard]] std::map<std::string, std::string> stages_by_host(const facts::Census& census);

/// "Checked two as a host without Kubernetes (preflight); one as a control-plane node of cluster lab (node,
/// cluster)"; at most five hosts of each kind are listed. `asked`: the requested stage; empty: automatic.
[[nodiscard]] std::string describe_stages(const facts::Census& census, const std::string& asked);

/// Every finding of those stages: unreachable hosts, then faults of a node, then what prevents a host from
/// becoming one, then the control plane's state (`view`; nothing: not read).
[[nodiscard]] Result<std::vector<report::Finding>> find_by_state(const spec::Cluster& cluster,
                                                                 const spec::Decisions& decisions,
                                                                 const facts::Census& census,
                                                                 const std::optional<std::string>& view,
                                                                 const assets::Store& assets);

}  // namespace session
