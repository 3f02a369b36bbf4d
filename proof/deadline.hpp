#pragma once

#include <string>

/// Ends the program where the driver does not come back: a call into a wedged GPU never returns.
namespace deadline {

/// From now on: so many seconds for this. When they have passed, a line says what was being done, and the
/// program ends with status 1.
void begin(const std::string& what, int seconds);
/// What is being done of it.
void enter(const std::string& step);

}  // namespace deadline
