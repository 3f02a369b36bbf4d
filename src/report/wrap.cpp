#include "gpuadm/report/wrap.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace report {

namespace {

/// The bytes of a character take one column together.
std::size_t columns(std::string_view word) {
  return static_cast<std::size_t>(
      std::ranges::count_if(word, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// The words of sh, as far as spaces are concerned: a quote within a word, as in "node's", does not count.
std::vector<std::string_view> shell_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = base::trim(line)).empty()) {
    std::size_t end = 0;
    char quote = '\0';
    for (char before = ' '; end < line.size() && (quote != '\0' || line[end] != ' '); before = line[end++]) {
      const char c = line[end];
      if (quote != '\0' ? c == quote : (c == '"' || c == '\'') && (before == ' ' || before == '='))
        quote = quote != '\0' ? '\0' : c;
    }
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

}  // namespace

std::string padded(std::string_view line, std::size_t indent, std::size_t width) {
  if (indent >= width || indent + columns(line) <= width) return std::string(line);
  std::string all;
  std::size_t column = indent;  // the current column of the screen
  for (const std::string_view word : shell_words(line)) {
    if (!all.empty() && column + 1 + columns(word) > width) {
      all += std::string(width - column + indent, ' ');
      column = indent;
    } else if (!all.empty()) {
      all += ' ';
      ++column;
    }
    all += word;
    column += columns(word);
    if (column > width) column %= width;  // a word that is wider than the screen
  }
  return all;
}

std::string wrapped(std::string_view line, std::size_t indent, std::size_t width) {
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
