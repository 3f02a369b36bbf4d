#pragma once

#include "gpuadm/base/error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Secrets are recognized by the names of their settings, by options, headers and URLs, and by the formats of
/// known keys. tests/cases/redact has them all.
namespace base {

/// One line with "***" in place of each secret. `count` grows with each.
[[nodiscard]] std::string without_secrets(std::string_view line, std::size_t& count);
/// The same for a text of many lines. The lines of a secret YAML block and of a private key are removed.
[[nodiscard]] std::string text_without_secrets(std::string_view text);
/// The error with "***" in place of each secret. In gpuadm's own words, about the command line or a file of
/// the operator (`usage`, `spec`), a word before a colon is a place: "password: is empty" names a file. Other
/// faults may quote hosts: there only the file at the beginning of `parse`, and absolute paths in `auth`,
/// are.
[[nodiscard]] Error error_without_secrets(const Error& error);

/// Follows the lines of a text and knows which of them belong to a secret that began on a line before:
/// `password: |`, or `name: DB_PASSWORD` before `value: X`.
class SecretBlock {
 public:
  /// Whether the next line belongs to such a secret.
  [[nodiscard]] bool hides(std::string_view line);

 private:
  std::optional<std::size_t> indent_;  ///< of the line that began it
  bool value_follows_ = false;         ///< the line before is the name of a secret
};
/// The text with one part of it, a view into it, replaced by "***".
[[nodiscard]] std::string starred(std::string_view text, std::string_view part);
/// Whether a word may begin there: the character before it is not part of a word. An escaped line end of JSON
/// is not part of a word.
[[nodiscard]] bool begins_word(std::string_view text, std::size_t at);

}  // namespace base
