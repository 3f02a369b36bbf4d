#pragma once

#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/kube/explanation.hpp"

#include <optional>
#include <string_view>

/// Pods of the overview of a cluster, a row each, for the same judgment as pods that were read as a whole.
namespace kube {

/// The typed pod of a row: what the row has.
[[nodiscard]] Pod pod_of(const facts::Pod& row);

/// Why an image of the pod cannot be pulled, with the events of the overview; nothing: it is not the image.
[[nodiscard]] std::optional<PodLink> image_problem(const facts::Pod& row, const facts::ClusterFacts& cluster);

/// Whether the reason of a waiting container is about its image.
[[nodiscard]] bool is_about_image(std::string_view reason);

}  // namespace kube
