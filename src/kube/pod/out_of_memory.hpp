#pragma once

#include "kube/pod/context.hpp"

#include <string>
#include <vector>

/// Containers that were killed because memory ran out.
namespace kube::pod {

/// The memory limit of a container, "2.0 GiB"; empty: it has none.
[[nodiscard]] std::string limit_of(const Container& container);
/// The memory of the container's node, if its limit is above that: the node runs out first. Empty: it is not,
/// or is not known.
[[nodiscard]] std::string memory_below_limit(const Context& context, const Container& container);

/// The reason of a container that was killed because memory ran out: at its own limit, or that of the node.
[[nodiscard]] PodLink out_of_memory(const Context& context, const Container& container,
                                    std::vector<std::string> seen);

}  // namespace kube::pod
