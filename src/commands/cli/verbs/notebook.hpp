#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm notebook create|list|url|stop|start|delete` and `gpuadm workload list`.
void add_notebook(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
