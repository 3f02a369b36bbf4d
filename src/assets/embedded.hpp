#pragma once

#include <map>
#include <string_view>

namespace assets {

/// Every embedded file by path.
[[nodiscard]] const std::map<std::string_view, std::string_view>& embedded();

}  // namespace assets
