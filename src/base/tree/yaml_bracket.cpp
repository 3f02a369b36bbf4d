#include "base/tree/yaml_bracket.hpp"

#include <vector>

namespace base::yaml {

std::optional<std::pair<Mark, char>> unclosed_bracket(std::string_view text) {
  std::vector<std::pair<Mark, char>> open;
  Mark at{1, 1};
  char quote = '\0', before = '\n',
       last = '\n';  // last: the last character that is not blank, or a line's end
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\' && quote == '"')
        ++i, ++at.column;
      else if (c == quote)
        quote = '\0';
    } else if (c == '#' && (before == ' ' || before == '\n')) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if ((c == '"' || c == '\'') && std::string_view(":-[{,\n").find(last) != std::string_view::npos) {
      quote = c;
    } else if ((c == '[' || c == '{') && std::string_view(":-[{,\n").find(last) != std::string_view::npos) {
      open.emplace_back(at, c);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
    before = c;
    if (c != ' ' && c != '\t') last = c;
    ++at.column;
    if (c == '\n') at = {at.line + 1, 1};
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

}  // namespace base::yaml
