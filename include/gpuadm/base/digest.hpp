#pragma once

#include <string>
#include <string_view>

namespace base {

/// The SHA-512 in lower-case hex. For SHA-256 see files.hpp.
[[nodiscard]] std::string sha512(std::string_view bytes);

}  // namespace base
