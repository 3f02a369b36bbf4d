#include "report/paint.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/wrap.hpp"

#include "report/finding/chains.hpp"

#include <fmt/format.h>

namespace report {

std::string paint(const Style& style, Ink ink, std::string_view text) {
  if (style.color == Color::no || text.empty()) return std::string(text);
  constexpr std::string_view codes[] = {"1", "2", "31", "32", "33", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(ink)], text);
}

std::string paint(const Style& style, const Finding& finding, std::string_view text) {
  constexpr Ink inks[] = {Ink::red, Ink::yellow, Ink::cyan, Ink::dim};
  return paint(style, inks[rank(&finding)], text);
}

std::string fit(std::string_view text, std::size_t columns) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  if (columns == 0 || std::cmp_less_equal(std::ranges::count_if(text, begins), columns))
    return std::string(text);
  const std::size_t keep = columns - std::min<std::size_t>(columns, 3);
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (begins(text[end]) && ++seen > keep) break;
  return std::string(text.substr(0, end)) + "...";
}

std::string indent_rest(std::string_view text, std::size_t columns) {
  return base::replace_all(base::printable(base::trim(text)), "\n", "\n" + std::string(columns, ' '));
}

namespace {

using Wrap = std::string (*)(std::string_view line, std::size_t indent, std::size_t width);

std::string indent_rest_by(Wrap wrap, std::string_view text, std::size_t columns, const Style& style) {
  const std::string shown = base::printable(base::trim(text));
  std::string all;
  for (const std::string_view line : base::lines(shown))
    all += (all.empty() ? "" : "\n" + std::string(columns, ' ')) + wrap(line, columns, style.width);
  return all;
}

}  // namespace

std::string indent_rest(std::string_view text, std::size_t columns, const Style& style) {
  return indent_rest_by(wrapped, text, columns, style);
}

std::string indent_typed(std::string_view text, std::size_t columns, const Style& style) {
  return indent_rest_by(padded, style.complete ? style.complete(text) : std::string(text), columns, style);
}

std::string first_line(std::string_view text) {
  return base::printable(base::trim(text.substr(0, text.find('\n'))));
}

std::string count(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string remedy_text(const Finding& finding) {
  const std::string& remedy = finding.remedy;
  const bool is_step = remedy.find(' ') == std::string::npos && remedy.find('.') != std::string::npos;
  if (is_step)
    return fmt::format("gpuadm init does it (step {}){}", remedy,
                       finding.fixable ? ", gpuadm doctor --fix now" : "");
  return finding.fixable ? fmt::format("gpuadm doctor --fix does it; by hand: {}", remedy) : remedy;
}

}  // namespace report
