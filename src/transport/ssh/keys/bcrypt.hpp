#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace transport {

/// The key derivation of encrypted OpenSSH private keys: bcrypt_pbkdf as OpenBSD has it. About 10 ms a round.
[[nodiscard]] std::string bcrypt_pbkdf(std::string_view passphrase, std::string_view salt,
                                       std::uint32_t rounds, std::size_t length);

}  // namespace transport
