#include "gpuadm/report/wrap.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace report {

std::string wrapped(std::string_view line, std::size_t indent, std::size_t width) {
  // The bytes of one character together take a column.
  const auto columns = [](std::string_view word) {
    return static_cast<std::size_t>(
        std::ranges::count_if(word, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  };
  if (width == 0 || indent + columns(line) <= width) return std::string(line);
  std::string all;
  std::size_t column = indent;
  for (const std::string_view word : base::words(line)) {
    if (column > indent && column + 1 + columns(word) > width) {
      all += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      all += ' ';
      ++column;
    }
    all += word;
    column += columns(word);
  }
  return all;
}

}  // namespace report
