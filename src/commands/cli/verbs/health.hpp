#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm health enable|status|history|disable|run|serve`.
void add_health(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
