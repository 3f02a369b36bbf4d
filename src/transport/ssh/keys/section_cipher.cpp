#include "transport/ssh/keys/section_cipher.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>

#include <array>
#include <map>
#include <memory>

namespace transport {

namespace {
constexpr std::size_t tag_size = 16, chacha_key_size = 32;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// `tag`: for ciphers that have one; otherwise empty. Nothing: it does not match.
std::optional<std::string> run_cipher(const EVP_CIPHER* cipher, std::string_view key, std::string_view vector,
                                      std::string_view section, std::string_view tag) {
  std::string plain(section.size() + EVP_MAX_BLOCK_LENGTH, '\0');
  int size = 0, last = 0;
  const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  bool good = EVP_DecryptInit_ex(context.get(), cipher, nullptr, octets(key), octets(vector)) == 1;
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  if (!tag.empty())
    good = good && EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()),
                                       const_cast<unsigned char*>(octets(tag))) == 1;
  auto* into = reinterpret_cast<unsigned char*>(plain.data());
  good =
      good &&
      EVP_DecryptUpdate(context.get(), into, &size, octets(section), static_cast<int>(section.size())) == 1 &&
      EVP_DecryptFinal_ex(context.get(), into + size, &last) == 1;
  ERR_clear_error();
  if (!good) return std::nullopt;
  plain.resize(static_cast<std::size_t>(size));
  return plain;
}

bool tag_matches(std::string_view key, std::string_view section, std::string_view tag) {
  std::array<unsigned char, tag_size> made{};
  std::size_t size = 0;
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "POLY1305", nullptr),
                                                              EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()),
                                                                          EVP_MAC_CTX_free);
  return EVP_MAC_init(context.get(), octets(key), key.size(), nullptr) == 1 &&
         EVP_MAC_update(context.get(), octets(section), section.size()) == 1 &&
         EVP_MAC_final(context.get(), made.data(), &size, made.size()) == 1 && size == tag.size() &&
         CRYPTO_memcmp(made.data(), tag.data(), size) == 0;
}

/// OpenSSH's PROTOCOL.chacha20poly1305 with packet number 0 and without a header.
std::optional<std::string> run_chacha(std::string_view key, std::string_view section, std::string_view tag) {
  key = key.substr(0, chacha_key_size);  // the other half is the header's
  const std::string zeros(chacha_key_size, '\0');
  std::string vector(16, '\0');
  const auto tag_key = run_cipher(EVP_chacha20(), key, vector, zeros, "");
  if (!tag_key || !tag_matches(*tag_key, section, tag)) return std::nullopt;
  vector[0] = 1;  // the block counter
  return run_cipher(EVP_chacha20(), key, vector, section, "");
}
}  // namespace

std::optional<SectionCipher> SectionCipher::named(std::string_view name) {
  static const std::map<std::string_view, SectionCipher> table{
      {"3des-cbc", {Kind::plain, EVP_des_ede3_cbc()}},
      {"aes128-cbc", {Kind::plain, EVP_aes_128_cbc()}},
      {"aes192-cbc", {Kind::plain, EVP_aes_192_cbc()}},
      {"aes256-cbc", {Kind::plain, EVP_aes_256_cbc()}},
      {"rijndael-cbc@lysator.liu.se", {Kind::plain, EVP_aes_256_cbc()}},
      {"aes128-ctr", {Kind::plain, EVP_aes_128_ctr()}},
      {"aes192-ctr", {Kind::plain, EVP_aes_192_ctr()}},
      {"aes256-ctr", {Kind::plain, EVP_aes_256_ctr()}},
      {"aes128-gcm@openssh.com", {Kind::gcm, EVP_aes_128_gcm()}},
      {"aes256-gcm@openssh.com", {Kind::gcm, EVP_aes_256_gcm()}},
      {"chacha20-poly1305@openssh.com", {Kind::chacha20_poly1305, EVP_chacha20()}},
  };
  const auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

std::size_t SectionCipher::key_size() const {
  if (kind_ == Kind::chacha20_poly1305) return 2 * chacha_key_size;
  return static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_) + EVP_CIPHER_get_iv_length(cipher_));
}

std::optional<std::string> SectionCipher::decrypt(std::string_view key, std::string_view section,
                                                  std::string_view tag) const {
  if (kind_ == Kind::plain ? !tag.empty() : tag.size() != tag_size) return std::nullopt;
  if (kind_ == Kind::chacha20_poly1305) return run_chacha(key, section, tag);
  const auto length = static_cast<std::size_t>(EVP_CIPHER_get_key_length(cipher_));
  return run_cipher(cipher_, key.substr(0, length), key.substr(length), section, tag);
}

}  // namespace transport
