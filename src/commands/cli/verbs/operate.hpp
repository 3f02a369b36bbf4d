#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm status`, `kubeconfig`, `exec`, `logs` and `cp`.
void add_operate(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
