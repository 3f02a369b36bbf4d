#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Secrets are known by the names of their settings.
namespace base {

/// One line without what stands behind the name of a secret setting, in an HTTP header or before the host of
/// a URL: "***" in its place. `count` grows with each.
[[nodiscard]] std::string without_secrets(std::string_view line, std::size_t& count);
/// The text with one part of it, a view into it, replaced by "***".
[[nodiscard]] std::string starred(std::string_view text, std::string_view part);
/// Whether a word may begin there: no part of one stands before it. What JSON writes for an end of line is
/// none.
[[nodiscard]] bool begins_word(std::string_view text, std::size_t at);

}  // namespace base
