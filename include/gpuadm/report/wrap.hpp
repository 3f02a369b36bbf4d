#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace report {

/// The words of one line in lines of at most `width` columns, those after the first behind `indent` blanks.
/// The first begins at column `indent`, too; a word that is wider stands alone. 0: one line, as it is.
[[nodiscard]] std::string wrapped(std::string_view line, std::size_t indent, std::size_t width);

/// The same for what may be copied from a terminal: blanks in place of line ends, as many as bring the next
/// word below the first where the terminal itself begins a line, so that what is copied is one line. What
/// stands in quotes is not parted.
[[nodiscard]] std::string padded(std::string_view line, std::size_t indent, std::size_t width);

}  // namespace report
