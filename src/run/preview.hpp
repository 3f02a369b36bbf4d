#pragma once

#include "gpuadm/run/run.hpp"

namespace run {

/// Mode::preview: one program of checks per host.
[[nodiscard]] Outcome preview(const plan::Plan& plan, transport::Fleet& fleet, report::Reporter& reporter,
                              const Identity& who);

}  // namespace run
