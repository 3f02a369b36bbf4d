#pragma once

#include <cstddef>
#include <string_view>

namespace base {

/// Length of the UTF-8 character at the beginning of a non-empty text, 0 if it is invalid.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether a UTF-8 character changes how a terminal or a reader displays others: C1 controls, and invisible
/// characters: zero-width, direction marks, line separators.
[[nodiscard]] bool is_unsafe(std::string_view character);

}  // namespace base
