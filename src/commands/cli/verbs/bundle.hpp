#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace cli {

/// `gpuadm bundle`.
void add_bundle(CLI::App& root, Global& global, Verb& chosen);

}  // namespace cli
