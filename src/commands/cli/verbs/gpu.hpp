#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm gpu list|share|mig|reset-config`.
void add_gpu(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
