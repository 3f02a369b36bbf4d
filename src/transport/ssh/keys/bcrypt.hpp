#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace transport {

/// The key derivation of encrypted OpenSSH private keys: OpenBSD's bcrypt_pbkdf. About 10 ms a round.
[[nodiscard]] std::string bcrypt_pbkdf(std::string_view passphrase, std::string_view salt,
                                       std::uint32_t rounds, std::size_t length);

}  // namespace transport
