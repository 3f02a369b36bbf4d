#pragma once

#include "gpuadm/workload/train.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace workload {

/// Annotations of Jobs: how often gpuadm starts them again, and that they run as long as the other ranks.
inline constexpr std::string_view restarts_annotation = "gpuadm.io/restarts",
                                  follower_annotation = "gpuadm.io/ends-with-job";

/// The rank of a pod or of a Job for one rank. Nothing: the object has none.
[[nodiscard]] std::optional<int> rank_of(const base::Tree& object);
/// The state of a rank from its pod.
[[nodiscard]] RankState rank_state_of(const base::Tree& pod, int rank);

}  // namespace workload
