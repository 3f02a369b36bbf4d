#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/session/watch.hpp"

#include "commands/inspect/doctor_options.hpp"

namespace commands {

/// `gpuadm doctor --watch`. Fault::usage for options that cannot be combined with it.
[[nodiscard]] Result<Outcome> watch_and_report(const DoctorOptions& options, const assets::Store& assets,
                                               const session::Judge& judge, Io& io);

}  // namespace commands
