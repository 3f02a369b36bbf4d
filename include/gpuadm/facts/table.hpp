#pragma once

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/sections.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// The tables of playbooks/cluster.sh.
namespace facts {

/// One line of a table; a missing column is empty.
class Row {
 public:
  explicit Row(std::string_view line) : columns_(base::split(line, '\t')) {}
  [[nodiscard]] std::string text(std::size_t at) const {
    return at < columns_.size() ? std::string(base::trim(columns_[at])) : std::string();
  }
  [[nodiscard]] int number(std::size_t at) const {
    return static_cast<int>(base::to_int(text(at)).value_or(0));
  }
  [[nodiscard]] base::Tree json(std::size_t at) const {
    auto tree = base::json::read(text(at), "kubectl");
    return tree ? std::move(*tree) : base::Tree();
  }
  [[nodiscard]] std::map<std::string, std::string> map(std::size_t at) const {
    std::map<std::string, std::string> found;
    const base::Tree tree = json(at);
    for (const auto& [key, value] : tree.entries()) found.emplace(key, value.text());
    return found;
  }
  [[nodiscard]] std::vector<std::string> words(std::size_t at) const {
    const std::string all = text(at);
    std::vector<std::string> found;
    for (const std::string_view word : base::words(all)) found.emplace_back(word);
    return found;
  }

 private:
  std::vector<std::string_view> columns_;
};

/// The items of a table, or nothing if the API server did not return it.
template <class T>
std::optional<std::vector<T>> table(const Sections& sections, std::string_view name, T (*read)(const Row&)) {
  const Section* section = sections.find(name);
  if (!section || (section->status.value_or(1) != 0 && !section->cut)) return std::nullopt;
  std::vector<T> items;
  for (const std::string_view line : section->lines)
    if (line.find('\t') != std::string_view::npos) items.push_back(read(Row(line)));
  return items;
}

}  // namespace facts
