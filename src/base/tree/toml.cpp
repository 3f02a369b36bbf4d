#include "gpuadm/base/toml.hpp"

#include "gpuadm/base/text.hpp"

#include "base/tree/toml_depth.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <sstream>

namespace base::toml {

namespace {

constexpr std::size_t max_depth = 256;

Tree from(const ::toml::node& node) {
  Tree tree;
  if (const auto* table = node.as_table()) {
    tree = Tree::map();
    for (const auto& [key, value] : *table) tree.set(key.str(), from(value));
  } else if (const auto* array = node.as_array()) {
    tree = Tree::list();
    for (const auto& item : *array) tree.push(from(item));
  } else if (const auto* text = node.as_string()) {
    tree = text->get();
  } else if (const auto* number = node.as_integer()) {
    tree = std::int64_t{number->get()};
  } else if (const auto* real = node.as_floating_point()) {
    tree = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    tree = flag->get();
  } else {
    std::ostringstream printed;  // dates and times
    node.visit([&](const auto& value) {
      if constexpr (!::toml::is_container<decltype(value)>) printed << *value;
    });
    tree = printed.str();
  }
  tree.mark = {static_cast<int>(node.source().begin.line), static_cast<int>(node.source().begin.column)};
  return tree;
}

void put(::toml::table& table, const std::string& key, const Tree& tree);
void put(::toml::array& array, const Tree& tree);

::toml::table table_of(const Tree& tree) {
  ::toml::table table;
  for (const auto& [key, value] : tree.entries()) put(table, key, value);
  return table;
}

::toml::array array_of(const Tree& tree) {
  ::toml::array array;
  for (const Tree& item : tree.items()) put(array, item);
  return array;
}

/// Passes the node for a tree to `into`; null has no TOML representation and is omitted.
template <class Into>
void with_node(const Tree& tree, Into into) {
  if (tree.is_map())
    into(table_of(tree));
  else if (tree.is_list())
    into(array_of(tree));
  else if (auto flag = tree.as_bool())
    into(*flag);
  else if (auto number = tree.as_int())
    into(*number);
  else if (auto real = tree.as_real())
    into(*real);
  else if (const std::string* text = tree.as_string())
    into(*text);
}

void put(::toml::table& table, const std::string& key, const Tree& tree) {
  with_node(tree, [&](auto&& node) { table.insert_or_assign(key, std::forward<decltype(node)>(node)); });
}

void put(::toml::array& array, const Tree& tree) {
  with_node(tree, [&](auto&& node) { array.push_back(std::forward<decltype(node)>(node)); });
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                                        std::string::npos;
  if (bare) return key;
  std::ostringstream out;
  out << ::toml::toml_formatter{
      ::toml::value<std::string>{key},
      ::toml::toml_formatter::default_flags & ~::toml::format_flags::allow_literal_strings};
  return out.str();
}

std::string header_text(const std::vector<std::string>& path) {
  std::vector<std::string> parts;
  for (const std::string& key : path) parts.push_back(key_text(key));
  return "[" + join(parts, ".") + "]";
}

/// A value on one line.
std::string value_text(const Tree& tree) {
  if (tree.is_list()) {
    std::vector<std::string> parts;
    for (const Tree& item : tree.items()) parts.push_back(value_text(item));
    return "[" + join(parts, ", ") + "]";
  }
  if (tree.is_map()) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : tree.entries())
      parts.push_back(key_text(key) + " = " + value_text(value));
    return "{ " + join(parts, ", ") + " }";
  }
  if (const std::string* text = tree.as_string()) {
    std::ostringstream out;
    out << ::toml::toml_formatter{::toml::value<std::string>{*text}, ::toml::format_flags::none};
    return out.str();
  }
  return tree.text();
}

std::size_t offset_of(std::string_view text, const ::toml::source_position& position) {
  std::size_t at = 0;
  for (std::uint32_t line = 1; line < position.line && at != std::string_view::npos; ++line)
    at = text.find('\n', at) + 1;
  // toml++ counts columns in characters, not bytes.
  for (std::uint32_t column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::string replaced(std::string text, const ::toml::node& node, const Tree& value) {
  const std::size_t begin = offset_of(text, node.source().begin);
  return text.replace(begin, offset_of(text, node.source().end) - begin, value_text(value));
}

/// The line directly below the header of a table.
std::string inserted(std::string text, const ::toml::table& table, const std::string& line) {
  const std::size_t header = offset_of(text, table.source().begin);
  const std::size_t newline = header == 0 ? std::string::npos : text.rfind('\n', header - 1);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  const std::size_t end = text.find('\n', header);
  if (end == std::string::npos) return text + "\n" + line;
  return text.insert(end + 1, std::string(header - start, ' ') + "  " + line);
}

/// Ways to make one assignment in place, the best first. The caller checks which of them has the expected
/// result: toml++ does not distinguish a table with its own header from one that only its children name.
std::vector<std::string> edits(const std::string& text, const Assignment& assignment, const Tree& wanted) {
  const ::toml::table root = ::toml::parse(text);
  const ::toml::node* node = &root;
  std::size_t depth = 0;
  const std::vector<std::string>& path = assignment.path;
  for (; depth < path.size() && node->as_table(); ++depth) {
    const ::toml::node* next = node->as_table()->get(path[depth]);
    if (!next) break;
    node = next;
  }
  if (depth == path.size()) return {replaced(text, *node, assignment.value)};
  const std::string line = key_text(path.back()) + " = " + value_text(assignment.value) + "\n";
  if (path.size() == 1) return {line + text};
  std::vector<std::string> ways;
  if (depth == path.size() - 1 && node->as_table()) ways.push_back(inserted(text, *node->as_table(), line));
  const std::string end = text.empty() ? "" : text.ends_with('\n') ? "\n" : "\n\n";
  ways.push_back(text + end + header_text({path.begin(), path.end() - 1}) + "\n  " + line);
  // An inline table cannot be extended from outside: only it is rewritten.
  const auto here = path.begin() + static_cast<std::ptrdiff_t>(depth);
  if (depth > 0) ways.push_back(replaced(text, *node, *wanted.at(std::vector(path.begin(), here))));
  return ways;
}

}  // namespace

Result<Tree> read(std::string_view text, std::string_view source) {
  // The recursion of the parser and its result is as deep as the text.
  if (depth_of(text) > max_depth)
    return fail(Fault::parse, fmt::format("{}: nested deeper than {} levels", source, max_depth));
  try {
    return from(::toml::parse(text));
  } catch (const ::toml::parse_error& error) {
    return fail(Fault::parse, fmt::format("{}:{}:{}: {}", source, error.source().begin.line,
                                          error.source().begin.column, printable(error.description(), 300)));
  }
}

std::string write(const Tree& tree) {
  std::ostringstream out;
  out << ::toml::toml_formatter{
      table_of(tree), ::toml::toml_formatter::default_flags & ~::toml::format_flags::allow_literal_strings};
  return out.str() + "\n";
}

Result<std::string> set(std::string_view text, std::span<const Assignment> assignments,
                        std::string_view source) {
  Tree wanted = TRY(read(text, source));
  std::string edited(text);
  for (const Assignment& assignment : assignments) {
    Tree* here = &wanted;
    for (const std::string& key : assignment.path) here = &(*here)[key];
    if (*here == assignment.value) continue;
    *here = assignment.value;
    std::optional<std::string> found;
    for (const std::string& way : edits(edited, assignment, wanted)) {
      const Result<Tree> now = read(way, source);
      if (!found && now && *now == wanted) found = way;
    }
    edited = found ? *found : write(wanted);
  }
  return edited;
}

}  // namespace base::toml
