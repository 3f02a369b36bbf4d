#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm upgrade`.
void add_upgrade(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
