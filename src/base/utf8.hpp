#pragma once

#include <cstddef>
#include <string_view>

namespace base {

/// Bytes of the UTF-8 character at the front of a text that is not empty, 0 where there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

}  // namespace base
