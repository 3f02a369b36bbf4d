#pragma once

#include "gpuadm/base/time.hpp"

#include "commands/cli/model.hpp"

#include <string>
#include <utility>
#include <vector>

namespace commands {

/// The man pages: file name ("gpuadm-init.1") and text for each command.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> manual_of(const CommandHelp& root,
                                                                         const std::string& version,
                                                                         base::Time date);

}  // namespace commands
