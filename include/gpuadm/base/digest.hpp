#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

/// The SHA-512 in lower-case hex. For SHA-256 see files.hpp.
[[nodiscard]] std::string sha512(std::string_view bytes);
/// scrypt (RFC 7914) of a password, with N = 16384, r = 8, p = 1: 32 bytes in lower-case hex. `salt`: hex
/// digits, two for each byte.
[[nodiscard]] std::string scrypt(std::string_view password, std::string_view salt);
/// The bytes of a base64 text (files.hpp encodes), or nothing if it is invalid. Strict, so that each value
/// has exactly one text: with padding, without blanks and line breaks, no bits after the last byte (RFC
/// 4648, 3.5).
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace base
