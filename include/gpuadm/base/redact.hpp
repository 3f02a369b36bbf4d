#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Secrets are known by the names of their settings, by the options, headers and URLs they stand in, and by
/// the forms in which services give out keys. tests/cases/redact has them all.
namespace base {

/// One line with "***" in place of each secret. `count` grows with each.
[[nodiscard]] std::string without_secrets(std::string_view line, std::size_t& count);
/// The same for a text of many lines. The lines of a YAML block that is a secret, and of a private key, are
/// left out.
[[nodiscard]] std::string text_without_secrets(std::string_view text);

/// Follows the lines of a text and knows which of them are a secret that a line before began: `password: |`,
/// or `name: DB_PASSWORD` before `value: X`.
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
/// Whether a word may begin there: no part of one stands before it. What JSON writes for an end of line is
/// none.
[[nodiscard]] bool begins_word(std::string_view text, std::size_t at);

}  // namespace base
