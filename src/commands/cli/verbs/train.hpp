#pragma once

#include "commands/cli/verbs/verbs.hpp"

namespace commands {

/// `gpuadm train run|check|status|logs|stop|resume|list`.
void add_train(CLI::App& root, Global& global, Verb& chosen);

}  // namespace commands
