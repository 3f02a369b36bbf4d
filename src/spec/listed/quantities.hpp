#pragma once

#include "spec/types.hpp"

/// Types of values that users and served models have in common.
namespace spec {

[[nodiscard]] Type<std::string> name_space();  ///< of Kubernetes
[[nodiscard]] Type<std::string> cpus();        ///< "16", "500m"
[[nodiscard]] Type<std::string> size();        ///< "64Gi"; a number without a unit gets a suggestion

}  // namespace spec
