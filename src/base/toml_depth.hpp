#pragma once

#include <cstddef>
#include <string_view>

namespace base::toml {

/// How deep the tables and lists of a TOML text nest at most, by its keys and brackets: "a.b = [[1]]" is 4.
/// The text need not be valid.
[[nodiscard]] std::size_t depth_of(std::string_view text);

}  // namespace base::toml
