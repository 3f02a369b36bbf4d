#pragma once

#include <string_view>

namespace cli {

/// Shows a text on the whole terminal behind standard output, in place of the last one. Lines that do not fit
/// are counted in the last row. What the terminal showed before comes back with end_page(), and where Ctrl-Z,
/// SIGHUP or SIGQUIT stop or end the program.
void show_page(std::string_view text);
void end_page();

}  // namespace cli
