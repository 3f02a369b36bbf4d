#pragma once

#include "gpuadm/base/tree.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace base::yaml {

/// The innermost bracket or brace of a text that is not closed; quotes and comments do not count.
[[nodiscard]] std::optional<std::pair<Mark, char>> unclosed_bracket(std::string_view text);

}  // namespace base::yaml
