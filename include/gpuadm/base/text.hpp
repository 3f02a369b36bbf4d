#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace base {

/// A temporary string: views into it would dangle.
template <class Text>
concept Temporary = std::same_as<std::remove_const_t<Text>, std::string>;

[[nodiscard]] std::string_view trim(std::string_view text);
/// Splits at every separator; empty pieces are kept. The pieces are views into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
template <Temporary Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;
/// Splits at runs of blanks and tabs; no empty pieces. The words are views into `text`.
[[nodiscard]] std::vector<std::string_view> words(std::string_view text);
template <Temporary Text>
std::vector<std::string_view> words(Text&& text) = delete;
/// Lines without their ends (LF or CRLF); no last empty line. They are views into `text`.
[[nodiscard]] std::vector<std::string_view> lines(std::string_view text);
template <Temporary Text>
std::vector<std::string_view> lines(Text&& text) = delete;
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
[[nodiscard]] std::string lower(std::string_view text);
[[nodiscard]] std::string replace_all(std::string text, std::string_view from, std::string_view to);
/// The whole text as a number, or nothing.
[[nodiscard]] std::optional<long long> to_int(std::string_view text);
[[nodiscard]] std::optional<double> to_real(std::string_view text);

/// Text from a host with control characters and invalid UTF-8 escaped as \xNN; at most `limit` bytes, the
/// rest counted. Keeps newlines.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 4096);
/// The last `count` lines, made printable.
[[nodiscard]] std::string tail(std::string_view text, std::size_t count);

/// The candidate nearest to a mistyped word (edit distance at most a third of its length; at least 2, for
/// short words 1), or nothing.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// "512 B", "3.4 MiB".
[[nodiscard]] std::string human_bytes(unsigned long long bytes);
/// "0.4s", "12s", "2m 5s", "3h 10m".
[[nodiscard]] std::string human_seconds(double seconds);

/// A unified diff with three lines of context; empty if the texts are equal.
[[nodiscard]] std::string unified_diff(std::string_view before, std::string_view after,
                                       std::string_view before_name, std::string_view after_name);

}  // namespace base
