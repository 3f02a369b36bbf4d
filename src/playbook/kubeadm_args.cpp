#include "playbook/kubeadm_args.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace playbook {

namespace {

using base::Tree;

constexpr std::string_view gates = "feature-gates";

/// Parses either form.
Arguments arguments_of(const Tree& tree) {
  Arguments all;
  for (const auto& [name, value] : tree.entries()) all.emplace_back(name, value.text());
  for (const Tree& item : tree.items()) {
    const Tree* name = item.find("name");
    const Tree* value = item.find("value");
    if (name) all.emplace_back(name->text(), value ? value->text() : "");
  }
  return all;
}

/// "A=true,B=false" in both: each gate once, those of `over` win.
std::string merged_gates(const std::string& own, const std::string& over) {
  std::map<std::string, std::string> all;
  for (const std::string* text : {&own, &over})
    for (const std::string_view gate : base::split(*text, ','))
      if (const std::size_t equals = gate.find('='); equals != std::string_view::npos)
        all[std::string(base::trim(gate.substr(0, equals)))] =
            std::string(base::trim(gate.substr(equals + 1)));
  std::vector<std::string> parts;
  for (const auto& [name, value] : all) parts.push_back(name + "=" + value);
  return base::join(parts, ",");
}

Arguments merged(const Arguments& own, Arguments over) {
  Arguments all;
  for (const auto& [name, value] : own) {
    const auto same = std::ranges::find(over, name, &Arguments::value_type::first);
    if (same == over.end())
      all.emplace_back(name, value);
    else if (name == gates)
      same->second = merged_gates(value, same->second);
  }
  std::ranges::move(over, std::back_inserter(all));
  return all;
}

}  // namespace

Tree extra_args(const Arguments& arguments, const std::string& api) {
  if (api != "v1beta4") {
    Tree map = Tree::map();
    for (const auto& [name, value] : arguments) map.set(name, value);
    return map;
  }
  Tree list = Tree::list();
  for (const auto& [name, value] : arguments) list.push(Tree::map_of({{"name", name}, {"value", value}}));
  return list;
}

base::Result<> merge_cluster_configuration(Tree& tree, const Tree& patch, const std::string& api) {
  if (!patch.is_map()) return {};
  Tree whole = patch;
  for (const std::vector<std::string>& path : spec::extra_args_paths()) {
    const Tree* over = patch.at(path);
    if (!over || over->is_null()) continue;
    const Tree* own = tree.at(path);
    const Arguments all = merged(own ? arguments_of(*own) : Arguments(), arguments_of(*over));
    if (api != "v1beta4")
      for (const auto& [name, value] : all)
        if (std::ranges::count(all, name, &Arguments::value_type::first) > 1)
          return base::fail(
              base::Fault::spec,
              fmt::format(
                  "patches.clusterConfiguration.{}: '{}' is set twice, which kubeadm before 1.31 does "
                  "not support",
                  base::join(path, "."), base::printable(name, 100)),
              "keep one of them");
    Tree* place = &whole;
    for (const std::string& key : path) place = &(*place)[key];
    *place = extra_args(all, api);
  }
  tree.merge(whole);
  return {};
}

}  // namespace playbook
