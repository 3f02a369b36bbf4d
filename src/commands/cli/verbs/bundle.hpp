#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm bundle`.
void add_bundle(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
