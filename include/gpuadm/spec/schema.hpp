#pragma once

#include "gpuadm/base/tree.hpp"

namespace spec {

/// The cluster file as JSON Schema (json-schema.org, 2020-12), from the table by which it is read: for
/// editors. What parse() takes, it takes; it knows keys and types, not addresses, versions, or what fits
/// together.
[[nodiscard]] base::Tree schema();

}  // namespace spec
