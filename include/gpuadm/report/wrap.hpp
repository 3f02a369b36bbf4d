#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace report {

/// Wraps the words of one line at `width` columns, with later lines indented by `indent`. The first line
/// starts at column `indent`, too; a word that is wider gets its own line. 0: one line, unchanged.
[[nodiscard]] std::string wrapped(std::string_view line, std::size_t indent, std::size_t width);

/// The same for text that may be copied from a terminal: pads with spaces instead of line ends, so that the
/// terminal wraps the next word below the first, and the copied text is one line. Quoted text is not split.
[[nodiscard]] std::string padded(std::string_view line, std::size_t indent, std::size_t width);

}  // namespace report
