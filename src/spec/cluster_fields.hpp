#pragma once

#include "spec/field.hpp"

namespace spec {

/// Every key of a cluster file but those of a host: the one place for names, types, defaults and meanings.
[[nodiscard]] const std::vector<Field<Cluster>>& cluster_fields();

}  // namespace spec
