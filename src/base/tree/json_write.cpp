#include "gpuadm/base/json.hpp"

#include "base/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace base::json {

namespace {

/// Whether a number was written as an integer.
bool is_digits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The code point of a character of two or three bytes.
unsigned code_of(std::string_view character) {
  unsigned code = static_cast<unsigned char>(character[0]) & (character.size() == 2 ? 0x1fu : 0x0fu);
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

void put(std::string& out, std::string_view text) {
  constexpr std::string_view escaped = "\"\\\n\t\r", letters = "\"\\ntr";
  const auto plain = [](char c) { return c >= ' ' && c != '"' && c != '\\' && c != 0x7f; };
  out += '"';
  while (!text.empty()) {
    const auto run = static_cast<std::size_t>(std::ranges::find_if_not(text, plain) - text.begin());
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (const std::size_t known = escaped.find(c); known != std::string_view::npos)
      out += {'\\', letters[known]};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", c);
    else if (length == 0)
      out += "\xef\xbf\xbd";
    else if (is_unsafe(text.substr(0, length)))
      out += fmt::format("\\u{:04x}", code_of(text.substr(0, length)));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void put(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  const std::string text = fmt::format("{}", number);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

/// `indent` spaces a level, `depth` levels deep.
void put(std::string& out, const Tree& tree, std::size_t indent, std::size_t depth) {
  const auto line = [&](std::size_t levels) {
    if (indent > 0) out.append(1, '\n').append(indent * levels, ' ');
  };
  const bool is_list = tree.is_list();
  if (is_list || tree.is_map()) {
    bool first = true;
    const auto next = [&] {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
    };
    out += is_list ? '[' : '{';
    for (const Tree& item : tree.items()) {
      next();
      put(out, item, indent, depth + 1);
    }
    for (const auto& [key, value] : tree.entries()) {
      next();
      put(out, key);
      out += indent > 0 ? ": " : ":";
      put(out, value, indent, depth + 1);
    }
    if (!first) line(depth);
    out += is_list ? ']' : '}';
  } else if (const std::string* text = tree.as_string()) {
    put(out, std::string_view(*text));
  } else if (const auto number = tree.as_int()) {
    out += std::to_string(*number);
  } else if (tree.is_real() && is_digits(tree.written)) {
    out += tree.written;
  } else if (const auto real = tree.as_real()) {
    put(out, *real);
  } else if (const auto truth = tree.as_bool()) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

std::string write(const Tree& tree, int indent) {
  std::string out;
  put(out, tree, static_cast<std::size_t>(std::max(indent, 0)), 0);
  return out;
}

void Members::add(std::string_view key, const Tree& value) {
  std::string out = empty_ ? "{\n  " : ",\n  ";
  empty_ = false;
  put(out, key);
  out += ": ";
  put(out, value, 2, 1);
  write_(out);
}

void Members::end() {
  write_(empty_ ? "{}" : "\n}");
}

}  // namespace base::json
