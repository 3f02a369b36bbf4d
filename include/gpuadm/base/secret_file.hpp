#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <filesystem>

namespace base {

/// A file that only its owner, which is us, may read. Fault::usage otherwise, with what to type.
[[nodiscard]] base::Result<base::Secret> read_private_file(const std::filesystem::path& file);
/// The first line of a file that only its owner, which is us, may read. Fault::usage otherwise, with what to
/// type.
[[nodiscard]] base::Result<base::Secret> read_secret_file(const std::filesystem::path& file);

}  // namespace base
