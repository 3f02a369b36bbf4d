#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/transport/transport.hpp"

#include <chrono>
#include <string>

namespace transport {

/// Runs a shell program on this machine as the current user, with variables set at its beginning. A status
/// other than 0 is a result, not an error.
[[nodiscard]] base::Result<transport::Exit> run_local(const std::string& label,
                                                      const base::Variables& variables,
                                                      const std::string& script,
                                                      std::chrono::seconds timeout);

}  // namespace transport
