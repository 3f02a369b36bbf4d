#pragma once

#include "gpuadm/checks/chain.hpp"

#include <fmt/format.h>

/// Texts and findings of the chain.
namespace checks {

[[nodiscard]] report::Finding holds(Link link, const GpuNode& node, const std::string& evidence);
[[nodiscard]] const facts::Node* node_named(const facts::ClusterFacts& facts, std::string_view name);

}  // namespace checks
