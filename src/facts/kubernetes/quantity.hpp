#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/facts/pod_object.hpp"

namespace facts {

/// The quantities of a map of resources; those that cannot be parsed are missing.
[[nodiscard]] Amounts amounts_of(const base::Tree& resources);

}  // namespace facts
