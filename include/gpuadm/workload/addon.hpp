#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"
#include "gpuadm/base/tree.hpp"

#include <compare>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Add-ons: what a cluster runs for its users and operators, from a closed catalogue. Pure: computes objects
/// and inventories; session::ClusterClient sends and reads them.
namespace workload {

using base::Result;

/// Value of the label `gpuadm.io/kind` of an add-on's objects, and of the pods that users start in it.
inline constexpr std::string_view addon_kind = "addon", addon_server_kind = "jupyterhub-server";
/// Label of a Deployment or DaemonSet of an add-on and of its pods: which of its parts it is.
inline constexpr std::string_view part_label = "gpuadm.io/part";

/// A setting of `gpuadm addon enable NAME --set SETTING=VALUE`.
struct AddonSetting {
  std::string_view name;   ///< "storage"
  std::string_view value;  ///< what it takes: "NAME", "FILE"
  std::string_view message;
  bool required = false;
};

/// An entry of the catalogue. Texts are for people.
struct Addon {
  std::string_view name, message;
  std::string_view ns;                   ///< its namespace, which belongs to it alone
  std::string_view manifest;             ///< the asset with its objects
  std::vector<std::string_view> images;  ///< keys of playbooks/catalog.yaml
  std::vector<AddonSetting> settings;    ///< at most three
  std::string_view proof;                ///< what `enable` and `verify` prove
  std::string_view data;                 ///< what stays when it is disabled; empty: it has none
  std::string_view by_hand;              ///< how it is installed without gpuadm; empty: gpuadm installs it
};

/// Every entry, in the order of `gpuadm addon list`.
[[nodiscard]] std::span<const Addon> addons();
/// Fault::usage with the nearest name for an unknown one.
[[nodiscard]] Result<const Addon*> find_addon(std::string_view name);
/// The same for an add-on that gpuadm installs: Fault::usage says how another one is installed.
[[nodiscard]] Result<const Addon*> find_installable_addon(std::string_view name);

/// Values by the name of the setting.
using AddonSettings = std::map<std::string, std::string>;
/// From words such as "size=20Gi". Fault::usage for an unknown or repeated setting, an invalid value, or a
/// missing one that is required.
[[nodiscard]] Result<AddonSettings> parse_addon_settings(const Addon& addon,
                                                         const std::vector<std::string>& words);

/// Texts that replace ${NAME} in the strings of a manifest.
using AddonValues = std::map<std::string, std::string>;
/// The objects of a manifest, in its order, with the labels of the add-on on every object and on the pods of
/// its Deployments and DaemonSets. A value stays inside the string that it is put into. Fault::spec for a
/// manifest that is not YAML, or uses an unknown value.
[[nodiscard]] Result<std::vector<base::Tree>> addon_objects(const Addon& addon, std::string_view manifest,
                                                            const AddonValues& values);

/// An object by its name, which is all that identifies it.
struct ObjectName {
  std::string version, kind, ns, name;  ///< version: "apps/v1"; space: empty without a namespace
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};
[[nodiscard]] ObjectName name_of(const base::Tree& object);
[[nodiscard]] std::vector<ObjectName> names_of(std::span<const base::Tree> objects);
/// "Service gpuadm-prometheus/prometheus"
[[nodiscard]] std::string describe(const ObjectName& name);
/// The object with nothing except its name, for queries and deletion.
[[nodiscard]] base::Tree reference_to(const ObjectName& name);

/// What `enable` made: a ConfigMap in the namespace of the add-on, so that `disable` also deletes what
/// another version of gpuadm has made. Others may be able to change it: only what review_inventory and
/// owned_objects leave of it is deleted.
struct AddonInventory {
  std::vector<ObjectName> objects;  ///< in the order of creation; the ConfigMap and the namespace are in it
  AddonSettings settings;           ///< without those that name files
};
inline constexpr std::string_view inventory_name = "gpuadm-addon";
[[nodiscard]] ObjectName inventory_object(const Addon& addon);

/// The ConfigMap in kube-system that records which namespace gpuadm has created for the add-on. The
/// user who creates a namespace has rights in it, so one of others must not become the add-on's, even with
/// its labels.
[[nodiscard]] ObjectName namespace_record(const Addon& addon);
/// The record. `uid`: of the namespace; empty: it is about to be created.
[[nodiscard]] base::Tree to_namespace_record(const Addon& addon, const std::string& uid);
/// Fault::blocked if the namespace exists in `found`, and a record there does not say that gpuadm has created
/// it.
[[nodiscard]] Result<> check_namespace(const std::vector<base::Tree>& found, const Addon& addon);
[[nodiscard]] base::Tree to_object(const Addon& addon, const AddonInventory& inventory);
/// Fault::parse for a ConfigMap that is not one of gpuadm, or cannot be read as a whole.
[[nodiscard]] Result<AddonInventory> read_inventory(const base::Tree& config_map);

/// Whether it has the labels of the add-on.
[[nodiscard]] bool is_of_addon(const base::Tree& object, const Addon& addon);
/// The objects of a manifest by their names, without values. Fault::spec if it is not YAML.
[[nodiscard]] Result<std::vector<ObjectName>> manifest_names(const Addon& addon, std::string_view manifest);
/// Whether the add-on can have an object of this group, kind and namespace. `own`: objects of the add-on, of
/// which only these three are compared. Its Namespace can have one name only.
[[nodiscard]] bool is_possible(const ObjectName& name, const Addon& addon, std::span<const ObjectName> own);

/// What an inventory names, by whether it may be deleted.
struct ReviewedInventory {
  std::vector<ObjectName> possible;  ///< must be read; in the order of the inventory
  std::vector<std::string> kept;     ///< "Namespace kube-system: REASON"
};
[[nodiscard]] ReviewedInventory review_inventory(std::span<const ObjectName> listed, const Addon& addon,
                                                 std::span<const ObjectName> own);
/// Those of `existing` that belong to the add-on by its labels, in the order of `reviewed.possible`. The
/// others are added to `reviewed.kept`.
[[nodiscard]] std::vector<base::Tree> owned_objects(std::span<const base::Tree> existing, const Addon& addon,
                                                    ReviewedInventory& reviewed);

/// Objects that exist and do not belong to the add-on, described. Nothing of theirs may be changed.
[[nodiscard]] std::vector<std::string> foreign_objects(std::span<const base::Tree> existing,
                                                       const Addon& addon);

}  // namespace workload
