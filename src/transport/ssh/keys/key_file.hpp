#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <openssl/evp.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace transport {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeKey>;

/// A private key's file: OpenSSH's own format or PEM; ed25519, ecdsa or rsa; with or without a passphrase.
struct KeyFile {
  std::filesystem::path path;
  std::string type;  ///< "ssh-ed25519"; empty if it is encrypted
  std::string blob;  ///< public key in SSH's format; empty like `type`
  bool encrypted = false;
  base::Secret text;  ///< the file
};

/// Fault::spec if the file is not a private key that SSH has, or is readable by others (OpenSSH rejects it,
/// too).
[[nodiscard]] base::Result<KeyFile> read_key_file(const std::filesystem::path& path);

/// The decrypted key. Nothing: the passphrase is wrong. Fault::spec: invalid, or unsupported (sk-…, dsa, a
/// rare cipher).
[[nodiscard]] base::Result<std::optional<PrivateKey>> open_key(const KeyFile& file,
                                                               const base::Secret& passphrase);

/// The public blob of a decrypted key. Empty: SSH has no such keys (secp256k1, Ed448).
[[nodiscard]] std::string public_blob(EVP_PKEY* key);

/// The signature without its algorithm's name, as required by libssh2: rsa-sha2-512 for RSA.
[[nodiscard]] base::Result<std::string> sign(EVP_PKEY* key, std::string_view data);

}  // namespace transport
