#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <cstddef>

namespace base {

/// A new secret from the kernel's random number generator, as hex digits, two for each byte. Fault::bug if
/// the kernel has none.
[[nodiscard]] Result<Secret> random_secret(std::size_t bytes);

}  // namespace base
