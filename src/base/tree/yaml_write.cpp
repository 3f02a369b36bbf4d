#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include "base/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace base::yaml {

namespace {

// Words that YAML 1.1 readers (kubeadm's among them) interpret as another type.
constexpr std::array<std::string_view, 14> not_words = {
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", "-.inf", "+.inf", ".nan", "<<"};

/// In bytes; a reader expects the colon within 1024 characters (YAML 1.2, 7.4.2).
constexpr std::size_t longest_simple_key = 1000;

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Whether every YAML reader parses the bare text as this string, in a block and on one line.
bool is_plain(std::string_view text) {
  constexpr std::string_view starts = "/_.", inside = "_./@%+=,;()-: #*<>$~^|!?'\"",
                             numeric = "0123456789.:eExXoOaAbBcCdDfF_+-TtZz ";
  if (text.empty() || text.back() == ' ' || text.back() == ':') return false;
  if (!is_alphanumeric(text.front()) && starts.find(text.front()) == std::string_view::npos) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (!is_alphanumeric(text[i]) && inside.find(text[i]) == std::string_view::npos) return false;
    if ((text[i] == ' ' && text[i - 1] == ':') || (text[i] == '#' && text[i - 1] == ' ')) return false;
  }
  const bool starts_a_number = text.front() == '.' || std::isdigit(static_cast<unsigned char>(text.front()));
  if (starts_a_number && text.find_first_not_of(numeric) == std::string_view::npos) return false;
  return std::ranges::find(not_words, lower(text)) == not_words.end();
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  // C1 controls, the two other line breaks of Unicode, the byte order mark.
  if (character.size() == 2) return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return first < 0x20 || first == 0x7F || character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9" ||
         character == "\xEF\xBB\xBF";
}

/// Whether a literal block represents the text exactly: several lines without characters to escape.
bool is_literal(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\t' ||
      text.front() == '\n')
    return false;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    if (is_control(text.substr(0, length)) && text.front() != '\n' && text.front() != '\t') return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (character == "\"" || character == "\\")
      out += fmt::format("\\{}", character);
    else if (character == "\n")
      out += "\\n";
    else if (character == "\t")
      out += "\\t";
    else if (length == 0)
      out += "\\uFFFD";
    else if (!is_control(character))
      out += character;
    else if (length == 1)
      out += fmt::format("\\x{:02x}", character.front());
    else if (length == 2)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(character[1]));
    else
      out += character == "\xE2\x80\xA8" ? "\\L" : character == "\xE2\x80\xA9" ? "\\P" : "\\uFEFF";
    text.remove_prefix(character.size());
  }
  return out + "\"";
}

void put_literal(std::string& out, std::string_view text, std::size_t indent) {
  const bool ends_line = text.ends_with('\n');
  out += !ends_line ? "|-\n" : text.ends_with("\n\n") ? "|+\n" : "|\n";
  if (ends_line) text.remove_suffix(1);
  for (std::string_view line : split(text, '\n')) {
    if (!line.empty()) out.append(indent, ' ').append(line);
    out += '\n';
  }
}

std::string number(const Tree& tree) {
  const auto real = tree.is_real() && tree.written.empty() ? tree.as_real() : std::nullopt;
  if (!real) return tree.text();
  if (std::isnan(*real)) return ".nan";
  if (std::isinf(*real)) return *real > 0 ? ".inf" : "-.inf";
  const std::string text = tree.text();
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string one_line(std::string_view text) {
  return is_plain(text) ? std::string(text) : quoted(text);
}

/// `indent`: of the contents.
void put(std::string& out, const Tree& tree, std::size_t indent) {
  const bool is_list = tree.is_list();
  if (const std::string* text = tree.as_string()) {
    if (is_literal(*text)) return put_literal(out, *text, std::max<std::size_t>(indent, 2));
    out += one_line(*text) + "\n";
  } else if (tree.is_scalar()) {
    out += (tree.is_null() ? "null" : number(tree)) + "\n";
  } else if (tree.items().empty() && tree.entries().empty()) {
    out += is_list ? "[]\n" : "{}\n";
  } else {
    // The first line continues the current one.
    std::size_t before = 0;
    for (const Tree& item : tree.items()) {
      out.append(before, ' ').append("- ");
      put(out, item, indent + 2);
      before = indent;
    }
    for (const auto& [key, value] : tree.entries()) {
      const std::string name = one_line(key);
      out.append(before, ' ');
      if (name.size() > longest_simple_key)
        out.append("? ").append(name).append("\n").append(indent, ' ').append(":");
      else
        out.append(name).append(":");
      const bool below = !value.is_scalar() && !(value.items().empty() && value.entries().empty());
      if (below)
        out.append("\n").append(indent + 2, ' ');
      else
        out += ' ';
      put(out, value, indent + 2);
      before = indent;
    }
  }
}

}  // namespace

std::string write(const Tree& tree) {
  std::string out;
  put(out, tree, 0);
  return out;
}

}  // namespace base::yaml
