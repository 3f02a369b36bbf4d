#include "spec/patches.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
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

/// Programs that read these files may type plain scalars by YAML 1.1, and gpuadm by 1.2.
void judge_scalars(const Tree& tree, const std::string& key, base::Problems& problems) {
  for (const auto& [name, value] : tree.entries())
    judge_scalars(value, key + "." + base::printable(name, 100), problems);
  for (const Tree& item : tree.items()) judge_scalars(item, key + "[]", problems);
  if (tree.written.empty()) return;
  const auto other = base::yaml::kubernetes_scalar(tree.written);
  if (other && (*other == tree || (other->as_real() && other->as_real() == tree.as_real()))) return;
  const std::string shown = base::printable(tree.written, 100);
  problems.add(tree.mark,
               other ? fmt::format("{}: Kubernetes reads {} as {}: write {}, or quote it", key, shown,
                                   base::printable(other->text(), 100), base::printable(other->text(), 100))
                     : fmt::format("{}: Kubernetes does not read the number {}", key, shown));
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
  if (const Tree* patches = file.find("patches")) judge_scalars(*patches, "patches", problems);
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
