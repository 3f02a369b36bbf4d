#include "gpuadm/base/shell.hpp"

#include <cctype>
#include <stdexcept>

namespace base {

std::string quote(std::string_view word) {
  std::string text(word);
  std::erase(text, '\0');
  std::string quoted = "'";
  quoted.reserve(text.size() + 2);
  std::size_t at = 0;
  for (std::size_t mark; (mark = text.find('\'', at)) != std::string::npos; at = mark + 1)
    quoted.append(text, at, mark - at).append("'\\''");
  return quoted.append(text, at).append("'");
}

std::string assignments(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    bool good = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
    for (char c : name) good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
    if (!good) throw std::logic_error("not a shell variable: " + name);
    text += name + "=" + quote(value) + "\n";
  }
  return text;
}

}  // namespace base
