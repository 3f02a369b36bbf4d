#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm apply|join|remove`
void add_cluster(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
