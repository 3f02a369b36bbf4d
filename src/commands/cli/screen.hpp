#pragma once

#include <string_view>

namespace commands {

/// Shows a text on the whole terminal of standard output, in place of the previous one. Lines that do not fit
/// are counted in the last row. end_page() restores the previous contents, also when Ctrl-Z, SIGHUP or
/// SIGQUIT stop or end the program.
void show_page(std::string_view text);
void end_page();

}  // namespace commands
