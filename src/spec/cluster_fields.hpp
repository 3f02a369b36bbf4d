#pragma once

#include "spec/field.hpp"

namespace spec {

/// All keys of a cluster file except those of a host: the only source of names, types, defaults and
/// descriptions.
[[nodiscard]] const std::vector<Field<Cluster>>& cluster_fields();

}  // namespace spec
