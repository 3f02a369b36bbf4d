#include "spec/patches.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

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

const std::vector<std::vector<std::string>>& extra_args_paths() {
  static const std::vector<std::vector<std::string>> all = {{"apiServer", "extraArgs"},
                                                            {"controllerManager", "extraArgs"},
                                                            {"scheduler", "extraArgs"},
                                                            {"etcd", "local", "extraArgs"}};
  return all;
}

void judge_patches(const Tree& file, base::Problems& problems) {
  for (const std::vector<std::string>& place : extra_args_paths()) {
    std::vector<std::string> path = {"patches", "clusterConfiguration"};
    path.insert(path.end(), place.begin(), place.end());
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
