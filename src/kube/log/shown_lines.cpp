#include "gpuadm/base/text.hpp"

#include "kube/log/error_line.hpp"

#include <algorithm>

namespace kube::pod {

std::string as_shown(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t last = line.rfind('\r'); last != std::string_view::npos) line.remove_prefix(last + 1);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
      continue;
    }
    text += line[i];
  }
  return text;
}

Lines lines_of(std::span<const std::string> log) {
  constexpr std::size_t most = 4000;
  Lines lines;
  const auto add = [&](std::string text, std::size_t number) {
    lines.texts.push_back(std::move(text));
    lines.numbers.push_back(number);
  };
  for (std::size_t i = 0; i < log.size(); ++i) {
    const std::string text = as_shown(log[i]);
    if (!text.contains("Traceback (most recent call last)") || !text.contains("\\n") ||
        lines.texts.size() > most) {
      add(text, i);
      continue;
    }
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find("\\n", at), text.size());
      add(base::replace_all(text.substr(at, end - at), "\\\"", "\""), i);
      at = end + 2;
    }
  }
  return lines;
}

}  // namespace kube::pod
