#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm addon list|show|enable|verify|disable`.
void add_addon(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
