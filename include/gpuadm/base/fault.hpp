#pragma once

#include "gpuadm/base/error.hpp"

#include <optional>
#include <string_view>

namespace base {

/// The fault with this name_of().
[[nodiscard]] std::optional<Fault> fault_named(std::string_view name);

}  // namespace base
