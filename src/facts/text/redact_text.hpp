#pragma once

#include "gpuadm/base/redact.hpp"
#include "gpuadm/facts/redact.hpp"

#include <cctype>
#include <string>
#include <string_view>

/// Shared by the parts of the redactor.
namespace facts {

/// Position in a line, and the output so far.
struct Redactor::Place {
  std::string_view text;
  bool names = false;  ///< it contains names
  bool cells = false;  ///< one of its cells may be a name
  std::size_t at = 0;
  std::string out;
  /// Whether the name is a separate word, such as a column of a table or a text in JSON.
  [[nodiscard]] bool is_cell(std::string_view name) const {
    const std::string_view rest = text.substr(at);
    const char before = at > 0 ? text[at - 1] : '\t',
               after = rest.size() > name.size() ? rest[name.size()] : '\t';
    const bool begins = before == '\t' || before == '"' || at == 2;
    return rest.starts_with(name) && begins && (after == '\t' || after == '"');
  }
  void replace(std::size_t length, std::string_view by) {
    out += by;
    at += length;
  }
};

inline bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}
inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
inline bool is_name(char c) {
  return is_word(c) || c == '-' || c == '.';
}

/// The characters of a class starting at `at`; a view into `text`.
inline std::string_view run(std::string_view text, std::size_t at, bool (*is)(char)) {
  std::size_t end = at;
  while (end < text.size() && is(text[end])) ++end;
  return text.substr(at, end - at);
}

/// The value of `<serial>1650</serial>` in nvidia-smi's XML, and of `Serial Number: 1650`; a view into
/// `text`.
[[nodiscard]] std::string_view serial_in(std::string_view text);

}  // namespace facts
