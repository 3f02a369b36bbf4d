#pragma once

#include "gpuadm/facts/facts.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Parts of to_tree(). A subject's part is in the file that reads it, unless that file would be too long.
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

[[nodiscard]] Tree machine_tree(const Facts& facts);
[[nodiscard]] Tree os_tree(const Facts& facts);
[[nodiscard]] Tree clock_tree(const Clock& clock);
[[nodiscard]] Tree kernel_tree(const Facts& facts);
[[nodiscard]] Tree disks_tree(const Storage& storage);
[[nodiscard]] Tree mounts_tree(const Storage& storage);
[[nodiscard]] Tree software_tree(const Facts& facts);
[[nodiscard]] Tree runtimes_tree(const Facts& facts);
[[nodiscard]] Tree pod_states_tree(const PodStates& states);
[[nodiscard]] Tree kubernetes_tree(const Kubernetes& kubernetes);
[[nodiscard]] Tree kernel_state_tree(const Kernel& kernel);
[[nodiscard]] Tree clock_state_tree(const Clock& clock);
[[nodiscard]] Tree machine_state_tree(const Machine& machine);
[[nodiscard]] Tree security_state_tree(const Security& security);
[[nodiscard]] Tree toolkit_tree(const Toolkit& toolkit);
[[nodiscard]] Tree storage_tree(const Facts& facts);
[[nodiscard]] Tree rdma_tree(const Rdma& rdma);
[[nodiscard]] Tree nvidia_tree(const Facts& facts);

}  // namespace facts
