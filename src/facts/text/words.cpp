#include "facts/text/words.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace facts {

std::optional<std::string> known(std::string_view value) {
  value = base::trim(value);
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  static constexpr std::array<std::string_view, 8> empty = {"",
                                                            "N/A",
                                                            "Not Supported",
                                                            "Unknown Error",
                                                            "Not Found",
                                                            "Insufficient Permissions",
                                                            "GPU access blocked by the operating system",
                                                            "Requested functionality has been deprecated"};
  for (const std::string_view none : empty)
    if (value == none) return std::nullopt;
  return std::string(value);
}

bool is_absent(std::string_view value) {
  value = base::trim(value);
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  static constexpr std::array<std::string_view, 5> absent = {"", "N/A", "Not Supported", "Not Found",
                                                             "Requested functionality has been deprecated"};
  return std::ranges::find(absent, value) != absent.end();
}

std::map<std::string, std::string, std::less<>> pairs(std::string_view line) {
  std::map<std::string, std::string, std::less<>> found;
  for (const std::string_view word : base::words(line))
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      found.emplace(word.substr(0, equals), word.substr(equals + 1));
  return found;
}

std::map<std::string, std::string> assignments(std::string_view text) {
  std::map<std::string, std::string> found;
  for (std::string_view line : base::lines(text)) {
    line = base::trim(line);
    if (line.starts_with("export ")) line = base::trim(line.substr(7));
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    std::string_view value = base::trim(line.substr(equals + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    found[std::string(base::trim(line.substr(0, equals)))] = std::string(value);
  }
  return found;
}

std::optional<std::string> version_in(std::string_view line) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::string_view word : base::words(line)) {
    if (word.ends_with(',')) word.remove_suffix(1);
    if (word.empty()) continue;
    if (digit(word[0]) || (word[0] == 'v' && word.size() > 1 && digit(word[1]))) return std::string(word);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count(std::string_view text) {
  const auto number = base::to_int(base::trim(text));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::string slot_of(std::string_view bus_id) {
  if (bus_id.size() == 16 && bus_id.starts_with("0000")) bus_id.remove_prefix(4);
  return base::lower(bus_id);
}

std::map<std::string, std::string> proxies_of(std::map<std::string, std::string> environment) {
  std::erase_if(environment, [](const auto& variable) {
    const std::string name = base::lower(variable.first);
    return variable.second.empty() ||
           (name != "http_proxy" && name != "https_proxy" && name != "no_proxy" && name != "all_proxy");
  });
  return environment;
}

std::optional<int> numa_node(std::string_view value) {
  const auto node = base::to_int(value);
  return node && *node >= -1 && *node < 4096 ? std::optional(static_cast<int>(*node)) : std::nullopt;
}

}  // namespace facts
