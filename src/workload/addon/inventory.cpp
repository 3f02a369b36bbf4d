#include "gpuadm/base/json.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* objects_key = "objects.json";
constexpr const char* settings_key = "settings.json";
constexpr const char* namespace_uid_key = "namespaceUID";

Tree to_tree(const ObjectName& name) {
  return Tree::map_of(
      {{"apiVersion", name.version}, {"kind", name.kind}, {"namespace", name.ns}, {"name", name.name}});
}

}  // namespace

ObjectName inventory_object(const Addon& addon) {
  return {"v1", "ConfigMap", std::string(addon.ns), std::string(inventory_name)};
}

ObjectName namespace_record(const Addon& addon) {
  return {"v1", "ConfigMap", "kube-system", fmt::format("gpuadm-addon-{}", addon.name)};
}

Tree to_namespace_record(const Addon& addon, const std::string& uid) {
  Tree object = reference_to(namespace_record(addon));
  object["metadata"].set("labels", labels_of(addon_kind, addon.name));
  object.set("data", Tree::map_of({{namespace_uid_key, uid}}));
  return object;
}

Result<> check_namespace(const std::vector<Tree>& found, const Addon& addon) {
  const Tree *ns = nullptr, *record = nullptr;
  for (const Tree& object : found) {
    if (text_of(object, "kind") == "Namespace") ns = &object;
    if (name_of(object) == namespace_record(addon)) record = &object;
  }
  if (!ns) return {};
  const std::string recorded = record ? text_at(*record, {"data", namespace_uid_key}) : std::string();
  if (record && (recorded.empty() || recorded == text_at(*ns, {"metadata", "uid"}))) return {};
  return base::fail(
      Fault::blocked,
      fmt::format("the namespace {} exists, and gpuadm has not created it: its owner could "
                  "control the add-on {} in it",
                  addon.ns, addon.name),
      fmt::format("delete it, if nothing in it is needed, then run again: kubectl delete namespace {}",
                  addon.ns));
}

Tree to_object(const Addon& addon, const AddonInventory& inventory) {
  Tree objects = Tree::list(), settings = Tree::map();
  for (const ObjectName& name : inventory.objects) objects.push(to_tree(name));
  for (const auto& [name, value] : inventory.settings) settings.set(name, value);
  Tree object = reference_to(inventory_object(addon));
  object["metadata"].set("labels", labels_of(addon_kind, addon.name));
  object.set("data", Tree::map_of({{objects_key, base::json::write(objects, 0)},
                                   {settings_key, base::json::write(settings, 0)}}));
  return object;
}

Result<AddonInventory> read_inventory(const Tree& config_map) {
  const std::string source = describe(name_of(config_map));
  AddonInventory inventory;
  const Tree* data = config_map.find("data");
  const Tree* text = data ? data->find(objects_key) : nullptr;
  const auto objects = text ? base::json::read(text->text(), source) : Result<Tree>(Tree());
  if (!objects || !objects->is_list() || objects->items().empty())
    return base::fail(Fault::parse, fmt::format("{}: not an inventory of gpuadm", source),
                      "delete the objects of the add-on by hand: kubectl get all,configmaps -A -l "
                      "gpuadm.io/kind=addon");
  for (const Tree& one : objects->items()) {
    ObjectName name{text_of(one, "apiVersion"), text_of(one, "kind"), text_of(one, "namespace"),
                    text_of(one, "name")};
    if (name.version.empty() || name.kind.empty() || name.name.empty())
      return base::fail(Fault::parse, fmt::format("{}: an entry without apiVersion, kind or name", source));
    inventory.objects.push_back(std::move(name));
  }
  if (const Tree* given = data->find(settings_key)) {
    const Tree settings = TRY(base::json::read(given->text(), source));
    for (const auto& [name, value] : settings.entries()) inventory.settings[name] = value.text();
  }
  return inventory;
}

}  // namespace workload
