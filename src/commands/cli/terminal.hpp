#pragma once

#include "commands/command.hpp"

namespace commands {

/// Standard output and error (color and live lines only on a terminal, no color with NO_COLOR; neither in a
/// plain view), and questions on /dev/tty.
[[nodiscard]] commands::Io make_io(report::Verbosity verbosity, report::Color color, report::View view);

/// The errno of the first failed write to standard output; 0: none. A closed pipe is not a failure.
[[nodiscard]] int output_error();

}  // namespace commands
