#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm completion`, and the hidden `gpuadm manual`: documents generated from the command line.
void add_completion(CLI::App& root, Verb& chosen);

}  // namespace commands
