#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace transport {

/// Reads SSH wire types (RFC 4251) sequentially. Past the end everything is empty and good() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  std::uint32_t u32() {
    const std::string_view raw = take(4);
    std::uint32_t value = 0;
    for (char c : raw) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  unsigned char u8() {
    const std::string_view raw = take(1);
    return raw.empty() ? 0 : static_cast<unsigned char>(raw[0]);
  }
  std::string_view string() { return take(u32()); }
  std::string_view take(std::size_t count) {
    if (count > left_.size()) {
      good_ = false;
      left_ = {};
      return {};
    }
    const std::string_view piece = left_.substr(0, count);
    left_.remove_prefix(count);
    return piece;
  }
  [[nodiscard]] std::string_view rest() const { return left_; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view left_;
  bool good_ = true;
};

inline void put_u32(std::string& into, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) into += static_cast<char>(value >> shift & 0xff);
}
inline void put_string(std::string& into, std::string_view text) {
  put_u32(into, static_cast<std::uint32_t>(text.size()));
  into += text;
}

/// SHA256:… of a key's public blob, in OpenSSH's format.
[[nodiscard]] std::string fingerprint(std::string_view blob);
/// The bytes of a base64 text; empty if it is invalid (base::from_base64, as strict as OpenSSH).
[[nodiscard]] std::string unbase64(std::string_view text);

}  // namespace transport
