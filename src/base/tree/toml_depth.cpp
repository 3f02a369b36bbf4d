#include "base/tree/toml_depth.hpp"

#include <algorithm>
#include <vector>

namespace base::toml {

namespace {

/// The position after a string that begins at `at`, or the end of the text.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool is_long = three.size() == 3 && three[1] == quote && three[2] == quote;
  for (std::size_t i = at + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (is_long ? text.substr(i).starts_with(three) : text[i] == quote) {
      return i + (is_long ? 3 : 1);
    } else if (!is_long && text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

}  // namespace

std::size_t depth_of(std::string_view text) {
  std::size_t deepest = 0, header = 0, key = 0, parts = 1;
  std::vector<std::size_t> open;  // the nesting that each open bracket of a value adds
  std::size_t inside = 0;         // the sum of those
  bool in_header = false, line_begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = line_begins && open.empty();
    if (c != ' ' && c != '\t' && c != '\r') line_begins = c == '\n';
    if (c == '"' || c == '\'') {
      i = behind_string(text, i) - 1;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '\n') {
      if (open.empty()) key = 0, parts = 1, in_header = false;
    } else if (c == '[' && begins) {
      in_header = true, header = 0, parts = 1;
    } else if (in_header) {
      if (c == '.') ++parts;
      header = parts;
    } else if (c == '.') {
      ++parts;
    } else if (c == '=') {
      key = parts, parts = 1;
    } else if (c == '[' || c == '{') {
      open.push_back(key + 1);
      inside += open.back();
      key = 0, parts = 1;
    } else if ((c == ']' || c == '}') && !open.empty()) {
      inside -= open.back();
      open.pop_back();
    } else if (c == ',') {
      key = 0, parts = 1;
    }
    deepest = std::max(deepest, header + inside + key + parts);
  }
  return deepest;
}

}  // namespace base::toml
