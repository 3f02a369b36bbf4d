#pragma once

#include "gpuadm/base/tree.hpp"

#include <string>

/// Parts of pods in composed manifests.
namespace playbook::manifest {

using base::Tree;

inline Tree env(const std::string& name, const std::string& value) {
  return Tree::map_of({{"name", name}, {"value", Tree(value)}});
}

inline Tree host_path(const std::string& name, const std::string& path, const std::string& type) {
  Tree place = Tree::map_of({{"path", path}});
  if (!type.empty()) place.set("type", type);
  return Tree::map_of({{"name", name}, {"hostPath", place}});
}

inline Tree mount(const std::string& name, const std::string& path) {
  return Tree::map_of({{"name", name}, {"mountPath", path}});
}

}  // namespace playbook::manifest
