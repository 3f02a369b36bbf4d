#include "spec/patches.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace spec {

namespace {

using base::Tree;

bool is_argument(const Tree& item) {
  const Tree* name = item.is_map() ? item.find("name") : nullptr;
  const Tree* value = item.is_map() ? item.find("value") : nullptr;
  return name && name->is_scalar() && !name->text().empty() && value && value->is_scalar();
}

}  // namespace

void judge_patches(const Tree& file, base::Problems& problems) {
  for (const std::vector<std::string>& component :
       {std::vector<std::string>{"apiServer"}, {"controllerManager"}, {"scheduler"}, {"etcd", "local"}}) {
    std::vector<std::string> path = {"patches", "clusterConfiguration"};
    path.insert(path.end(), component.begin(), component.end());
    path.emplace_back("extraArgs");
    const Tree* args = file.at(path);
    if (!args || args->is_null()) continue;
    const std::string key = base::join(path, ".");
    if (!args->is_map() && !args->is_list())
      problems.add(args->mark, key + ": expected a map of arguments, or a list of { name, value }");
    for (const auto& [name, value] : args->entries())
      if (!value.is_scalar())
        problems.add(value.mark, fmt::format("{}.{}: expected a value", key, base::printable(name, 100)));
    for (const Tree& item : args->items())
      if (!is_argument(item)) problems.add(item.mark, key + ": expected { name: ARGUMENT, value: VALUE }");
  }
}

}  // namespace spec
