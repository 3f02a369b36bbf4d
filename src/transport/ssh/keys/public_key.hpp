#pragma once

#include <string>
#include <string_view>

namespace transport {

/// Whether these bytes are a whole public key in SSH's format that OpenSSH accepts as well: ed25519, ecdsa,
/// rsa of at least 1024 bits, and the types of hardware keys.
[[nodiscard]] bool is_public_key(std::string_view blob);
/// The length of an RSA key's modulus; 0 for other keys.
[[nodiscard]] int rsa_bits(std::string_view blob);

/// The key in a file such as id_ed25519.pub. Empty: there is none.
[[nodiscard]] std::string read_public_key(const std::string& path);

}  // namespace transport
