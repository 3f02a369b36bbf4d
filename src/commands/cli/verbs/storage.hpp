#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm storage add|list|remove|claim`.
void add_storage(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
