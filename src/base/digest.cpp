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
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xff);
  }
  // The bits after the last byte: another text of the same bytes.
  if ((bits & ((1u << have) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace base
