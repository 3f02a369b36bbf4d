#pragma once

#include <cstddef>
#include <string_view>

namespace base::toml {

/// The maximum nesting of tables and lists of a TOML text, by its keys and brackets: "a.b = [[1]]" is 4. The
/// text may be invalid.
[[nodiscard]] std::size_t depth_of(std::string_view text);

}  // namespace base::toml
