#pragma once

#include <cstddef>
#include <string_view>

namespace base {

/// Bytes of the UTF-8 character at the front of a text that is not empty, 0 where there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether a character of UTF-8 changes what a terminal or a reader sees of the others: C1 controls, and the
/// characters that cannot be seen: of no width, that turn the direction of text, that end lines.
[[nodiscard]] bool is_unsafe(std::string_view character);

}  // namespace base
