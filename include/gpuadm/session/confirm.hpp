#pragma once

#include "gpuadm/session/options.hpp"

#include <string>

namespace session {

/// Asks the person at the terminal. Fault::usage without one, with the options that answer.
[[nodiscard]] Result<bool> confirmed(const std::string& question, const Io& io);

}  // namespace session
