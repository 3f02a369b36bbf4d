#pragma once

#include "gpuadm/spec/cluster.hpp"

namespace spec {

/// Parses a cluster file that gpuadm wrote for some hosts of a cluster. Like parse, but without the rules
/// about all hosts of a cluster: an odd number of control planes, and hosts of storages that the file
/// contains.
[[nodiscard]] Result<Cluster> parse_selected(std::string_view yaml, std::string_view source);

}  // namespace spec
