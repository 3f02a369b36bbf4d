#pragma once

#include "commands/command.hpp"

#include <filesystem>
#include <set>
#include <string>

namespace commands {

/// Identity of a finding across runs.
[[nodiscard]] std::string finding_key(const std::string& host, const std::string& id);

/// The keys of the open findings of an earlier run, from `doctor -o json` or the run directory.
[[nodiscard]] Result<std::set<std::string>> read_baseline(const std::filesystem::path& file);

}  // namespace commands
