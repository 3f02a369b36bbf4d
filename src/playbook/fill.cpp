#include "gpuadm/playbook/playbook.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

Result<std::string> fill(std::string_view text, const base::Variables& values,
                         const std::vector<std::string>& later, std::string_view source) {
  std::string filled;
  while (true) {
    const std::size_t open = text.find("${");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const std::size_t close = text.find('}', open);
    const std::string name(text.substr(open + 2, close == std::string_view::npos ? 40 : close - open - 2));
    if (close == std::string_view::npos)
      return base::fail(base::Fault::spec, fmt::format("{}: '${{{}' is not closed", source, name));
    const auto value = values.find(name);
    if (value != values.end())
      filled += value->second;
    else if (std::ranges::find(later, name) != later.end())
      filled += text.substr(open, close - open + 1);
    else
      return base::fail(base::Fault::spec, fmt::format("{}: unknown variable ${{{}}}", source, name));
    text.remove_prefix(close + 1);
  }
}

}  // namespace playbook
