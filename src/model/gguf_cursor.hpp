#pragma once

#include <cstdint>
#include <string_view>

namespace model {

/// Reads little-endian values. After the end every value is 0, and `ended` is true.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t number(std::size_t size) {
    const std::string_view piece = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = piece.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(piece[i]);
    return value;
  }
  [[nodiscard]] std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  [[nodiscard]] std::uint64_t u64() { return number(8); }
  [[nodiscard]] std::string_view string() { return take(u64()); }
  std::string_view take(std::uint64_t size) {
    if (ended_ || size > bytes_.size() - position_) {
      ended_ = true;
      return {};
    }
    const std::string_view piece = bytes_.substr(position_, size);
    position_ += size;
    return piece;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - position_; }

 private:
  std::string_view bytes_;
  std::uint64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace model
