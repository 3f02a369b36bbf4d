#pragma once

#include <cctype>
#include <string_view>

/// Names and formats of secrets.
namespace base {

inline bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
inline bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}
inline bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
inline bool is_word(char c) {
  return is_alnum(c) || c == '_';
}
/// Characters of a setting's name.
inline bool is_name(char c) {
  return is_word(c) || c == '-' || c == '.';
}

/// Whether a setting of this name is a secret.
[[nodiscard]] bool is_secret_name(std::string_view name);
/// A key that is recognized by its format, without a name before it: those of known services, and kubeadm's
/// bootstrap tokens.
[[nodiscard]] bool is_key(std::string_view word);
/// A YAML indicator for a block below: "|", ">-".
[[nodiscard]] bool is_block_sign(std::string_view value);

}  // namespace base
