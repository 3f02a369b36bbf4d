#pragma once

#include "gpuadm/workload/addon.hpp"

#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"
#include "commands/workloads/storage/claim.hpp"

#include <optional>
#include <string>
#include <vector>

namespace commands {

/// An add-on of a cluster.
struct AddonOptions {
  Common common;
  Hosts hosts;
  std::string name;
};

/// NAME, the hosts and the connection.
void add_addon(Line& line, AddonOptions& options);

struct AddonEnableOptions {
  AddonOptions addon;
  std::vector<std::string> settings;  ///< "size=20Gi"
  bool yaml = false;                  ///< print the objects instead of applying them
  bool keep = false;                  ///< keep the objects if the proof fails
  Consent consent = Consent::ask;     ///< to delete objects of an earlier `enable`
  std::chrono::seconds timeout{900};
};

/// An add-on with everything that the cluster decides.
struct AddonPlan {
  const workload::Addon* addon = nullptr;
  workload::AddonInventory inventory;  ///< of `objects`
  std::vector<base::Tree> objects;  ///< in the order of creation, the namespace first; without the inventory
  std::optional<ClaimPlan> volume;  ///< on a storage; its objects are in `objects`
  std::optional<ClaimPlan> class_storage;  ///< of local-path: where its volumes are
  std::vector<base::Tree> queues;  ///< of kueue, which must run before they are made: see update_queues
  std::vector<std::string> notes;  ///< for the operator
};

/// From the cluster as it is now. Fault::usage for invalid settings and files, Fault::blocked if it cannot
/// be enabled in this cluster.
[[nodiscard]] Result<AddonPlan> plan_addon(const AddonEnableOptions& options,
                                           const workload::AddonSettings& settings, ReachedCluster& cluster);

/// Parts of a plan: values and objects of one add-on.
struct AddonContext {
  const AddonEnableOptions& options;
  const workload::AddonSettings& settings;
  ReachedCluster& cluster;
  base::Tree catalog;  ///< playbooks/catalog.yaml
  /// The setting, or `otherwise`.
  [[nodiscard]] std::string setting(const std::string& name, const std::string& otherwise = {}) const;
};

/// playbooks/catalog.yaml.
[[nodiscard]] Result<base::Tree> read_catalog(const assets::Store& assets);
/// The images of an add-on, by their keys in the catalog. Fault::spec if one is missing.
[[nodiscard]] Result<workload::AddonValues> images_of_addon(const workload::Addon& addon,
                                                            const base::Tree& catalog);

/// A claim of the add-on on the storage of its setting `storage`; nothing without the setting.
[[nodiscard]] Result<std::optional<ClaimPlan>> plan_addon_claim(const AddonContext& context,
                                                                const workload::Addon& addon,
                                                                const std::string& name,
                                                                const std::string& size);
/// The volume `name` of a Deployment among `objects`: the claim of `plan`, otherwise `instead`.
void set_volume(std::vector<base::Tree>& objects, const std::string& deployment, const std::string& name,
                const std::optional<ClaimPlan>& plan, const base::Tree& instead);

/// Values for templates/addons/prometheus.yaml; `plan` gets the volume and notes.
[[nodiscard]] Result<workload::AddonValues> prometheus_values(const AddonContext& context, AddonPlan& plan);
/// Values for templates/addons/jupyterhub.yaml; `plan` gets the volume, notes, and in `objects` the Secret.
[[nodiscard]] Result<workload::AddonValues> jupyterhub_values(const AddonContext& context, AddonPlan& plan);

/// The inventory of an add-on in the cluster; nothing if it is not enabled.
[[nodiscard]] Result<std::optional<workload::AddonInventory>> read_addon(const workload::Addon& addon,
                                                                         session::ClusterClient& client);
/// "gpuadm addon VERB NAME …" with the arguments that select the same cluster.
[[nodiscard]] std::string addon_command(std::string_view verb, const AddonOptions& options);

}  // namespace commands
