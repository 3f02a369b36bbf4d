#pragma once

#include "gpuadm/app/app.hpp"

namespace cli {

/// Standard output and error as they are (colour and live lines only on a terminal, colour not with
/// NO_COLOR; neither where the view is to be plain), and questions on /dev/tty.
[[nodiscard]] app::Io make_io(report::Verbosity verbosity, report::Colour colour, report::View view);

/// The errno of the first write to standard output that failed; 0: none. A reader that has gone is no
/// failure.
[[nodiscard]] int output_error();

}  // namespace cli
