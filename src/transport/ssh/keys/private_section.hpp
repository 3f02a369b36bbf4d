#pragma once

#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/key_file.hpp"

#include <openssl/bn.h>

namespace transport {

/// The key in the decrypted section of an openssh-key-v1 file, after its two check words. Null for
/// unsupported kinds.
[[nodiscard]] PrivateKey read_private_section(Reader& reader);

/// A non-negative number as SSH's mpint.
void put_mpint(std::string& into, const BIGNUM* number);

}  // namespace transport
