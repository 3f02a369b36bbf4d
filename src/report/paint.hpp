#pragma once

#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <string>
#include <string_view>

namespace report {

enum class Ink { bold, dim, red, green, yellow, cyan };

/// The text in a color, or unchanged without colors.
[[nodiscard]] std::string paint(const Style& style, Ink ink, std::string_view text);

/// The text in the color of a finding's rank.
[[nodiscard]] std::string paint(const Style& style, const Finding& finding, std::string_view text);

/// Truncated to `columns` characters with "...". 0: unchanged.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

/// Indents every line after the first by `columns`; made printable.
[[nodiscard]] std::string indent_rest(std::string_view text, std::size_t columns);

/// The same, wrapped at the terminal's width.
[[nodiscard]] std::string indent_rest(std::string_view text, std::size_t columns, const Style& style);
/// The same for commands that may be copied: padded(), with what was typed: Style::complete.
[[nodiscard]] std::string indent_typed(std::string_view text, std::size_t columns, const Style& style);

/// The first line, made printable.
[[nodiscard]] std::string first_line(std::string_view text);

/// "3 hosts", "1 host".
[[nodiscard]] std::string count(std::size_t number, std::string_view noun);

/// A remedy as text: a sentence unchanged, or what gpuadm does for a step's id.
[[nodiscard]] std::string remedy_text(const Finding& finding);

}  // namespace report
