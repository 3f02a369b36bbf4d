#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm certs`, `gpuadm etcd`, `gpuadm repair`.
void add_upkeep(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
