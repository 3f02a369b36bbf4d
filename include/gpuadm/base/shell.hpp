#pragma once

#include <map>
#include <string>
#include <string_view>

namespace base {

/// One word of POSIX sh, quoted so that the shell reads back exactly these bytes (NUL bytes are dropped).
[[nodiscard]] std::string quote(std::string_view word);

/// Shell variables by name. Names are [A-Za-z_][A-Za-z0-9_]*.
using Variables = std::map<std::string, std::string>;

/// `NAME='value'` lines for the head of a program. An invalid name is a bug and throws std::logic_error.
[[nodiscard]] std::string assignments(const Variables& variables);

}  // namespace base
