#pragma once

#include "gpuadm/facts/facts.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Commands and packages that every distribution calls differently. A remedy has a word between @ for each:
/// "@install-toolkit@".
namespace checks {

/// The remedy with the commands of the host's distribution.
[[nodiscard]] std::string with_family_commands(const std::string& remedy, const facts::Facts& host);

/// Whether the host is of the family whose package manager these commands belong to; for tests.
[[nodiscard]] std::vector<std::string_view> commands_not_of(const facts::Os& os);

}  // namespace checks
