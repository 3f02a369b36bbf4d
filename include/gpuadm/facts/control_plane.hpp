#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"

#include <string>

namespace facts {

/// Whether a host has an administrator's kubeconfig.
[[nodiscard]] bool is_control_plane(const Census& census, const std::string& host);
/// Whether a node has the label of control planes.
[[nodiscard]] bool is_control_plane(const Node& node);
/// Whether the condition Ready of a node is True.
[[nodiscard]] bool is_ready(const Node& node);

}  // namespace facts
