#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Tree;

/// "apps" of "apps/v1". The version of an object may change, its group does not.
std::string_view group_of(std::string_view version) {
  const std::size_t slash = version.find('/');
  return slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
}

bool is_same_object(const ObjectName& one, const ObjectName& other) {
  return group_of(one.version) == group_of(other.version) && one.kind == other.kind && one.ns == other.ns &&
         one.name == other.name;
}

/// Names of objects of RBAC may have colons.
bool is_valid_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".:-").contains(static_cast<char>(c));
  });
}

/// Why an object that exists is not deleted; empty: it is the add-on's.
std::string foreign_reason(const Tree& object, const Addon& addon) {
  if (!is_of_addon(object, addon)) return "it does not have the labels of the add-on";
  const std::string ns = text_at(object, {"spec", "claimRef", "namespace"});
  if (text_of(object, "kind") == "PersistentVolume" && ns != addon.ns)
    return "it is the volume of a claim in another namespace";
  return "";
}

}  // namespace

Result<std::vector<ObjectName>> manifest_names(const Addon& addon, std::string_view manifest) {
  std::vector<ObjectName> names;
  for (const Tree& object : TRY(base::yaml::read_all(manifest, addon.manifest)))
    if (!object.is_null()) names.push_back(name_of(object));
  return names;
}

bool is_possible(const ObjectName& name, const Addon& addon, std::span<const ObjectName> own) {
  if (!is_valid_name(name.name) || (name.kind == "Namespace" && name.name != addon.ns)) return false;
  return std::ranges::any_of(own, [&](const ObjectName& one) {
    return group_of(one.version) == group_of(name.version) && one.kind == name.kind && one.ns == name.ns;
  });
}

ReviewedInventory review_inventory(std::span<const ObjectName> listed, const Addon& addon,
                                   std::span<const ObjectName> own) {
  ReviewedInventory reviewed;
  for (const ObjectName& name : listed) {
    if (!is_possible(name, addon, own))
      reviewed.kept.push_back(
          fmt::format("{}: the add-on {} has no such objects", describe(name), addon.name));
    else if (std::ranges::find(reviewed.possible, name) == reviewed.possible.end())
      reviewed.possible.push_back(name);
  }
  return reviewed;
}

std::vector<Tree> owned_objects(std::span<const Tree> existing, const Addon& addon,
                                ReviewedInventory& reviewed) {
  std::vector<Tree> owned;
  for (const ObjectName& name : reviewed.possible) {
    const auto found = std::ranges::find_if(
        existing, [&](const Tree& object) { return is_same_object(name_of(object), name); });
    if (found == existing.end()) continue;
    if (const std::string reason = foreign_reason(*found, addon); reason.empty())
      owned.push_back(*found);
    else
      reviewed.kept.push_back(describe(name) + ": " + reason);
  }
  return owned;
}

}  // namespace workload
