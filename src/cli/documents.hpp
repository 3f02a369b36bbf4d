#pragma once

#include "cli/verbs.hpp"

namespace cli {

/// `gpuadm completion`, and `gpuadm manual`, which no help names: what the command line says of itself.
void add_completion(CLI::App& root, Verb& chosen);

}  // namespace cli
