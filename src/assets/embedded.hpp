#pragma once

#include <map>
#include <string_view>

namespace assets {

/// Every file that was built in, by path.
[[nodiscard]] const std::map<std::string_view, std::string_view>& embedded();

}  // namespace assets
