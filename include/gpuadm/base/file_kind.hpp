#pragma once

#include <filesystem>
#include <string>

namespace base {

/// Why a path is not a regular file: "no such file", "is a directory", "not a regular file", or the system's
/// reason, such as "Permission denied"; empty if it is one. Symbolic links are followed.
[[nodiscard]] std::string why_no_file(const std::filesystem::path& path);

/// The same for a directory: "no such directory", "not a directory".
[[nodiscard]] std::string why_no_directory(const std::filesystem::path& path);

}  // namespace base
