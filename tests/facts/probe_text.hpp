#pragma once

#include <string>
#include <string_view>
#include <utility>

/// Probe output from sections written by hand.
inline std::string probe_text(std::initializer_list<std::pair<std::string_view, std::string_view>> sections) {
  std::string text = "gpuadm-probe 1\n";
  for (const auto& [name, content] : sections) {
    text.append("=== ").append(name).append("\n");
    std::string_view rest = content;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      text.append(line.starts_with("? ") || line == "! cut" ? "" : "| ").append(line).append("\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return text + "=== end\n";
}
