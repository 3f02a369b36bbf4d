#include "base/text/utf8.hpp"

namespace base {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) >= 0xA0) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

bool is_unsafe(std::string_view character) {
  if (character.size() == 2 && character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0)
    return true;
  if (character == "\xD8\x9C") return true;  // U+061C, ARABIC LETTER MARK
  if (character.size() != 3) return false;
  if (character == "\xEF\xBB\xBF") return true;  // U+FEFF
  const auto last = static_cast<unsigned char>(character[2]);
  if (character.starts_with("\xE2\x81")) return last >= 0xA0 && last <= 0xAF;
  return character.starts_with("\xE2\x80") &&
         ((last >= 0x8B && last <= 0x8F) || (last >= 0xA8 && last <= 0xAE));
}

}  // namespace base
