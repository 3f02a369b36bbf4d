#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace cli {

/// `gpuadm upgrade`.
void add_upgrade(CLI::App& root, Global& global, Verb& chosen);

}  // namespace cli
