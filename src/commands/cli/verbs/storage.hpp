#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace cli {

/// `gpuadm storage add|list|remove|claim`.
void add_storage(CLI::App& root, Global& global, Verb& chosen);

}  // namespace cli
