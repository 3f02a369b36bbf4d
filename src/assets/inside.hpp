#pragma once

#include <string_view>

namespace assets {

/// Whether a relative path names something below its folder: no root, no "." or "..", nothing empty, no
/// control bytes.
[[nodiscard]] bool is_inside(std::string_view path);

}  // namespace assets
