#pragma once

#include "gpuadm/session/findings.hpp"

#include <map>
#include <string>

namespace session {

/// What of Kubernetes a host is.
enum class HostState { fresh, unfinished, worker, control_plane };
/// fresh: nothing of Kubernetes; unfinished: kubeadm init or join has begun and is not complete.
[[nodiscard]] HostState state_of(const facts::Facts& facts);

/// The stages that doctor without --stage looks at, by host that was reached: "preflight" of a fresh host,
/// "node" of a worker, "node,cluster" of a control plane, all of an unfinished one.
[[nodiscard]] std::map<std::string, std::string> stages_by_host(const facts::Census& census);

/// "Checked two as a host without Kubernetes (preflight); one as a control-plane node of cluster lab (node,
/// cluster)"; at most five hosts of each kind are named. `asked`: the stage that was asked for; empty: what
/// fits.
[[nodiscard]] std::string describe_stages(const facts::Census& census, const std::string& asked);

/// Every finding of those stages: hosts that could not be reached, then what says what is broken on a node,
/// then what keeps a host from becoming one, then what a control plane says (`view`; nothing: none was
/// asked).
[[nodiscard]] Result<std::vector<report::Finding>> find_by_state(const spec::Cluster& cluster,
                                                                 const facts::Census& census,
                                                                 const std::optional<std::string>& view,
                                                                 const assets::Store& assets);

}  // namespace session
