#pragma once

#include "gpuadm/facts/facts.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// For the parts of to_tree(). A subject's part is in the file that reads it, unless that file would be too
/// long.
namespace facts {

using base::Tree;

template <class T>
Tree tree_of(const std::optional<T>& value) {
  return value ? Tree(*value) : Tree();
}

template <class T>
Tree list_of(const std::vector<T>& values, Tree (*one)(const T&)) {
  Tree list = Tree::list();
  for (const T& value : values) list.push(one(value));
  return list;
}

inline Tree list_of(const std::optional<std::vector<std::string>>& values) {
  return values ? Tree::list_of(*values) : Tree();
}

inline Tree map_of(const std::map<std::string, std::string>& values) {
  Tree::Map map;
  map.reserve(values.size());
  for (const auto& [key, value] : values) map.emplace_back(key, value);
  return map;
}

/// Part of `runtimes`.
[[nodiscard]] Tree toolkit_tree(const Toolkit& toolkit);

}  // namespace facts
