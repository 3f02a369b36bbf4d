#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace transport {

/// The ciphers of `ssh-keygen -Z` for private keys in OpenSSH's own format.
class SectionCipher {
 public:
  /// By the name in the file. Nothing: unknown.
  [[nodiscard]] static std::optional<SectionCipher> named(std::string_view name);

  /// Bytes of key and initialization vector together.
  [[nodiscard]] std::size_t key_size() const;
  /// `key`: of that size. `tag`: what follows the section in the file. Nothing: the key is wrong, or the file
  /// is damaged; ciphers without a tag decrypt to any bytes then.
  [[nodiscard]] std::optional<std::string> decrypt(std::string_view key, std::string_view section,
                                                   std::string_view tag) const;

 private:
  enum class Kind { plain, gcm, chacha20_poly1305 };
  SectionCipher(Kind kind, const EVP_CIPHER* cipher) : kind_(kind), cipher_(cipher) {}
  Kind kind_;
  const EVP_CIPHER* cipher_;
};

}  // namespace transport
