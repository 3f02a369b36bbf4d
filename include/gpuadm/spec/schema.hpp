#pragma once

#include "gpuadm/base/tree.hpp"

namespace spec {

/// The cluster file as JSON Schema (json-schema.org, 2020-12), generated from the table that parse() uses:
/// for editors. It accepts everything that parse() accepts; it checks keys and types, but not addresses,
/// versions, or combinations.
[[nodiscard]] base::Tree schema();

}  // namespace spec
