#pragma once

#include "gpuadm/report/finding.hpp"
#include "gpuadm/report/style.hpp"

#include <string>
#include <string_view>

namespace report {

enum class Ink { bold, dim, red, green, yellow, cyan };

/// The text in a colour, or as it is where the style has none.
[[nodiscard]] std::string paint(const Style& style, Ink ink, std::string_view text);

/// The text in the colour of a finding's rank.
[[nodiscard]] std::string paint(const Style& style, const Finding& finding, std::string_view text);

/// Cut to `columns` characters, "..." in place of the rest. 0: as it is.
[[nodiscard]] std::string fit(std::string_view text, std::size_t columns);

/// Every line after the first moved right by `columns`; made printable.
[[nodiscard]] std::string hang(std::string_view text, std::size_t columns);

/// The same, its lines no wider than the terminal.
[[nodiscard]] std::string hang(std::string_view text, std::size_t columns, const Style& style);
/// The same for what is to be typed, and may be copied: padded().
[[nodiscard]] std::string hang_typed(std::string_view text, std::size_t columns, const Style& style);

/// The first line, made printable.
[[nodiscard]] std::string first_line(std::string_view text);

/// "3 hosts", "1 host".
[[nodiscard]] std::string count(std::size_t number, std::string_view noun);

/// "do: …" in words: a sentence as it is, a step's id as what gpuadm would do.
[[nodiscard]] std::string remedy_text(const Finding& finding);

}  // namespace report
