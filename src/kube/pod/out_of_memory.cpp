#include "kube/pod/out_of_memory.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

std::string limit_of(const Container& container) {
  const auto place = container.limits.find("memory");
  return place == container.limits.end() ? std::string()
                                         : base::human_bytes(static_cast<unsigned long long>(place->second));
}

std::string memory_below_limit(const Context& context, const Container& container) {
  const auto limit = container.limits.find("memory");
  const auto& nodes = context.view.cluster.nodes;
  if (limit == container.limits.end() || !nodes) return {};
  const auto node = std::ranges::find(*nodes, context.pod.node, &facts::Node::name);
  if (node == nodes->end()) return {};
  const auto memory = node->allocatable.find("memory");
  if (memory == node->allocatable.end()) return {};
  const auto bytes = parse_quantity(memory->second);
  if (!bytes || *bytes <= 0 || *bytes > limit->second) return {};
  return base::human_bytes(static_cast<unsigned long long>(*bytes));
}

PodLink out_of_memory(const Context& context, const Container& container, std::vector<std::string> seen) {
  const std::string limit = limit_of(container);
  if (const std::string memory = memory_below_limit(context, container); !memory.empty())
    return broken(
        "run", "oom-killed",
        fmt::format("{} was killed because node {} ran out of memory: it has {}, and the limit is {}",
                    named(container), context.pod.node, memory, limit),
        std::move(seen),
        fmt::format("use less memory, or a node with more; set resources.limits.memory of container {} "
                    "below that of the node",
                    container.name));
  const bool is_ours = context.pod.labels.contains("gpuadm.io/kind");
  if (limit.empty() && !context.pod.has_spec)
    return broken(
        "run", "oom-killed",
        fmt::format(
            "{} was killed because it exceeded its memory limit, or because node {} ran out of memory",
            named(container), context.pod.node),
        std::move(seen), fmt::format("increase resources.limits.memory of container {}", container.name));
  if (limit.empty())
    return broken(
        "run", "oom-killed",
        fmt::format("{} was killed because node {} ran out of memory", named(container), context.pod.node),
        std::move(seen), fmt::format("set resources.requests.memory of container {}", container.name));
  return broken("run", "oom-killed",
                fmt::format("{} was killed at its memory limit of {}", named(container), limit),
                std::move(seen),
                is_ours ? "increase --memory"
                        : fmt::format("increase resources.limits.memory of container {}", container.name));
}

}  // namespace kube::pod
