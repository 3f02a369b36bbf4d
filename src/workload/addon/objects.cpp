#include "gpuadm/workload/objects.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

Result<std::string> replace(std::string_view text, const AddonValues& values, std::string_view source) {
  std::string out;
  while (true) {
    const std::size_t open = text.find("${");
    const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
    out += text.substr(0, close == std::string_view::npos ? close : open);
    if (close == std::string_view::npos) return out;
    const std::string name(text.substr(open + 2, close - open - 2));
    const auto value = values.find(name);
    if (value == values.end())
      return base::fail(Fault::spec,
                        fmt::format("{}: unknown value ${{{}}}", source, base::printable(name, 80)));
    out += value->second;
    text.remove_prefix(close + 1);
  }
}

Result<> replace_in(Tree& tree, const AddonValues& values, std::string_view source) {
  if (tree.is_list())
    for (Tree& item : tree.items()) TRY(replace_in(item, values, source));
  if (tree.is_map())
    for (auto& [key, value] : tree.entries()) TRY(replace_in(value, values, source));
  if (const std::string* text = tree.as_string(); text && text->find("${") != std::string::npos)
    tree = Tree(TRY(replace(*text, values, source)));
  return {};
}

void add_labels(Tree& metadata, const Tree& labels) {
  metadata["labels"].merge(labels);
}

void label(Tree& object, const Addon& addon) {
  Tree labels = labels_of(addon_kind, addon.name);
  const std::string kind = text_of(object, "kind");
  if (kind == "Deployment" || kind == "DaemonSet") {
    labels.set(part_label, text_at(object, {"metadata", "name"}));
    add_labels(object["spec"]["template"]["metadata"], labels);
  }
  add_labels(object["metadata"], labels);
}

}  // namespace

Result<std::vector<Tree>> addon_objects(const Addon& addon, std::string_view manifest,
                                        const AddonValues& values) {
  std::vector<Tree> objects;
  for (Tree& object : TRY(base::yaml::read_all(manifest, addon.manifest, base::yaml::Dialect::kubernetes))) {
    if (object.is_null()) continue;
    TRY(replace_in(object, values, addon.manifest));
    if (text_of(object, "kind").empty() || text_at(object, {"metadata", "name"}).empty())
      return base::fail(Fault::spec,
                        fmt::format("{}:{}: not an object of Kubernetes: it has no kind or no name",
                                    addon.manifest, object.mark.line));
    label(object, addon);
    objects.push_back(std::move(object));
  }
  if (objects.empty()) return base::fail(Fault::spec, fmt::format("{}: no objects", addon.manifest));
  return objects;
}

ObjectName name_of(const Tree& object) {
  return {text_of(object, "apiVersion"), text_of(object, "kind"), text_at(object, {"metadata", "namespace"}),
          text_at(object, {"metadata", "name"})};
}

std::vector<ObjectName> names_of(std::span<const Tree> objects) {
  std::vector<ObjectName> names;
  for (const Tree& object : objects) names.push_back(name_of(object));
  return names;
}

std::string describe(const ObjectName& name) {
  return base::printable(fmt::format("{} {}{}{}", name.kind, name.ns, name.ns.empty() ? "" : "/", name.name),
                         300);
}

Tree reference_to(const ObjectName& name) {
  Tree metadata = Tree::map_of({{"name", name.name}});
  if (!name.ns.empty()) metadata.set("namespace", name.ns);
  return Tree::map_of({{"apiVersion", name.version}, {"kind", name.kind}, {"metadata", std::move(metadata)}});
}

bool is_of_addon(const Tree& object, const Addon& addon) {
  const Tree wanted = labels_of(addon_kind, addon.name);
  const Tree* labels = object.at({"metadata", "labels"});
  return labels && std::ranges::all_of(wanted.entries(), [&](const auto& one) {
           return text_of(*labels, one.first) == one.second.text();
         });
}

std::vector<std::string> foreign_objects(std::span<const Tree> existing, const Addon& addon) {
  std::vector<std::string> foreign;
  for (const Tree& object : existing)
    if (!is_of_addon(object, addon)) foreign.push_back(describe(name_of(object)));
  return foreign;
}

}  // namespace workload
