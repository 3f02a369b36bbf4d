#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <filesystem>

namespace base {

/// Reads a file that must be owned by the current user and inaccessible to others. Fault::usage otherwise,
/// with what to type.
[[nodiscard]] base::Result<base::Secret> read_private_file(const std::filesystem::path& file);
/// The first line of such a file. Fault::usage otherwise, with what to type.
[[nodiscard]] base::Result<base::Secret> read_secret_file(const std::filesystem::path& file);

}  // namespace base
