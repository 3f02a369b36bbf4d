#include "transport/ssh/keys/bytes.hpp"

#include "gpuadm/base/files.hpp"

#include <openssl/sha.h>

namespace transport {

std::string fingerprint(std::string_view blob) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), digest);
  std::string text = base::base64({reinterpret_cast<const char*>(digest), sizeof digest});
  while (!text.empty() && text.back() == '=') text.pop_back();
  return "SHA256:" + text;
}

std::string unbase64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xff);
  }
  return bytes;
}

}  // namespace transport
