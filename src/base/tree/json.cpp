#include "gpuadm/base/json.hpp"

#include "gpuadm/base/text.hpp"

#include "base/text/utf8.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace base::json {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t max_depth = 256;

/// Builds a Tree from the parser's events. Integers that do not fit into 64 bits keep their digits.
class Reader : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add(static_cast<std::int64_t>(value));
    return add_digits(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& digits) override {
    return digits.find_first_of(".eE") == std::string::npos ? add_digits(value, digits) : add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Tree::map()); }
  bool key(std::string& key) override {
    keys_.back() = std::move(key);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Tree::list()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    byte = position;
    if (!dynamic_cast<const Json::parse_error*>(&error)) what = error.what();
    return false;
  }

  Tree tree;
  bool deep = false;
  std::size_t byte = 0;  ///< of the first error, 1-based
  std::string what;      ///< of an error that is not a syntax error

 private:
  bool add(Tree value) {
    if (open_.empty())
      tree = std::move(value);
    else if (open_.back().is_list())
      open_.back().push(std::move(value));
    else
      open_.back().set(keys_.back(), std::move(value));
    return true;
  }
  bool add_digits(double value, std::string digits) {
    Tree number = value;
    number.written = std::move(digits);
    return add(std::move(number));
  }
  bool open(Tree container) {
    deep = deep || open_.size() >= max_depth;
    if (deep) return false;
    open_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Tree done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(done));
  }

  std::vector<Tree> open_;         ///< the innermost last
  std::vector<std::string> keys_;  ///< for each, the key of the next value
};

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

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source) {
  try {
    Reader reader;
    if (Json::sax_parse(text, &reader)) return std::move(reader.tree);
    if (reader.deep)
      return fail(Fault::parse, fmt::format("{}: nested deeper than {} levels", source, max_depth));
    if (!reader.what.empty())
      return fail(Fault::parse, fmt::format("{}: {}", source, printable(reader.what, 200)));
    const std::size_t byte = reader.byte > 0 ? reader.byte - 1 : 0;
    return fail(Fault::parse, fmt::format("{}:{}: invalid JSON", source, place(text, byte)));
  } catch (const Json::exception& error) {
    return fail(Fault::parse, fmt::format("{}: {}", source, printable(error.what(), 200)));
  }
}

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
