#include "gpuadm/base/shell.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace base {

std::string quote(std::string_view word) {
  std::string quoted = "'";
  quoted.reserve(word.size() + 2);
  while (!word.empty()) {
    const std::size_t run = std::min(word.find_first_of(std::string_view("'\0", 2)), word.size());
    quoted += word.substr(0, run);
    if (run < word.size() && word[run] == '\'') quoted += "'\\''";
    word.remove_prefix(std::min(run + 1, word.size()));
  }
  return quoted + "'";
}

std::string assignments(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    bool good = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
    for (char c : name) good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!good) throw std::logic_error("no shell variable: " + name);
    text += name + "=" + quote(value) + "\n";
  }
  return text;
}

}  // namespace base
