#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace commands {

/// Why a file or a folder of --src is left out by its name: "version control", "may contain secrets",
/// "cache". Empty: it is not.
[[nodiscard]] std::string_view why_left_out(const std::filesystem::path& relative);

/// Whether the content of a file begins like a private key: PEM, OpenSSH, PGP or PuTTY.
[[nodiscard]] bool begins_with_private_key(std::string_view content);

/// Whether one of the patterns (glob(7), of --include) matches a path below the source folder or a folder
/// above it: without a slash the name, otherwise the path. Its place among the patterns; -1: none.
[[nodiscard]] int find_pattern(const std::vector<std::string>& patterns,
                               const std::filesystem::path& relative);

}  // namespace commands
