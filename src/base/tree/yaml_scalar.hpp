#pragma once

#include "gpuadm/base/tree.hpp"

#include <string>

namespace base::yaml {

/// A plain scalar by YAML 1.2's core schema, with its `written`.
[[nodiscard]] Tree core_scalar(const std::string& text);

}  // namespace base::yaml
