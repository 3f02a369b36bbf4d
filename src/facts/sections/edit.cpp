#include "gpuadm/facts/edit.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace facts {
namespace {

using base::Result;
using base::Tree;

constexpr const char* keys[] = {"change", "everywhere", "without", "probe"};

struct Part {
  std::string name;  ///< of the section; empty for the text before the first
  std::vector<std::string> lines;
};

std::vector<Part> parts_of(std::string_view probe) {
  std::vector<Part> parts(1);
  for (const std::string_view line : base::lines(probe)) {
    if (line.starts_with("=== "))
      parts.push_back({std::string(line.substr(4)), {}});
    else
      parts.back().lines.emplace_back(line);
  }
  return parts;
}

std::string text_of(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (!part.name.empty()) text += "=== " + part.name + "\n";
    for (const std::string& line : part.lines) text += line + "\n";
  }
  return text;
}

std::vector<std::string> lines_of(const Tree& content) {
  const std::string text = content.text();
  std::vector<std::string> lines;
  for (const std::string_view line : base::lines(text))
    lines.push_back((line.starts_with("? ") ? "" : "| ") + std::string(line));
  return lines;
}

std::unexpected<base::Error> missing(std::string_view what) {
  return base::fail(base::Fault::parse,
                    fmt::format("the probe contains no '{}'", base::printable(what, 200)));
}

Result<> add(std::vector<Part>& parts, const std::string& name, const Tree& content) {
  const auto part = std::ranges::find(parts, name, &Part::name);
  if (part == parts.end()) return missing("=== " + name);
  auto& lines = part->lines;
  const auto at = lines.empty() || !lines.back().starts_with("? ") ? lines.end() : lines.end() - 1;
  const auto more = lines_of(content);
  lines.insert(at, more.begin(), more.end());
  return {};
}

void replace(std::vector<Part>& parts, const std::string& name, const Tree& content) {
  auto part = std::ranges::find(parts, name, &Part::name);
  if (part == parts.end()) part = parts.insert(std::ranges::find(parts, "end", &Part::name), {name, {}});
  part->lines = lines_of(content);
}

}  // namespace

Result<std::string> edited(std::string_view probe, const Tree& edits) {
  std::string text(probe);
  if (std::ranges::none_of(keys, [&](const char* key) { return edits.find(key) != nullptr; })) return text;
  static const Tree none;
  const auto part_of = [&](const char* key) -> const Tree& {
    const Tree* found = edits.find(key);
    return found ? *found : none;
  };
  for (const auto& [from, to] : part_of("change").entries()) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return missing(from);
    text.replace(at, from.size(), to.text());
  }
  for (const auto& [from, to] : part_of("everywhere").entries()) {
    if (text.find(from) == std::string::npos) return missing(from);
    text = base::replace_all(std::move(text), from, to.text());
  }
  std::vector<Part> parts = parts_of(text);
  for (const Tree& name : part_of("without").items())
    if (std::erase_if(parts, [&](const Part& part) { return part.name == name.text(); }) == 0)
      return missing("=== " + name.text());
  for (const auto& [name, content] : part_of("probe").entries()) {
    if (name.ends_with('+'))
      TRY(add(parts, name.substr(0, name.size() - 1), content));
    else
      replace(parts, name, content);
  }
  return text_of(parts);
}

}  // namespace facts
