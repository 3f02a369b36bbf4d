#include "gpuadm/base/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <vector>

namespace base {

namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::vector<unsigned char> bytes_of_hex(std::string_view hex) {
  std::vector<unsigned char> bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, value, 16);
    bytes.push_back(static_cast<unsigned char>(value));
  }
  return bytes;
}

}  // namespace

std::string sha512(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), sum.data(), &length, EVP_sha512(), nullptr);
  return hex_of(std::span(sum).first(length));
}

std::string scrypt(std::string_view password, std::string_view salt) {
  constexpr std::uint64_t cost = 16384, block = 8, lanes = 1, memory = 64u << 20;
  std::array<unsigned char, 32> key{};
  const std::vector<unsigned char> bytes = bytes_of_hex(salt);
  EVP_PBE_scrypt(password.data(), password.size(), bytes.data(), bytes.size(), cost, block, lanes, memory,
                 key.data(), key.size());
  return hex_of(key);
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  // EVP_DecodeBlock counts the padding as bytes.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

}  // namespace base
