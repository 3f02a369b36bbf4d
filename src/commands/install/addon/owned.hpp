#pragma once

#include "commands/install/addon/plan.hpp"

#include <string>
#include <vector>

/// Which objects of the cluster an add-on may delete: its inventory can be changed by others.
namespace commands {

/// What objects of the add-on can be, by group, kind and namespace: those of its manifest, of its inventory,
/// of its claim, and of the hub. plan_addon makes no others. Names are those of the manifest, or empty.
[[nodiscard]] Result<std::vector<workload::ObjectName>> possible_objects(const workload::Addon& addon,
                                                                         const assets::Store& assets);
/// The Secret of the add-on jupyterhub.
[[nodiscard]] workload::ObjectName hub_secret(const workload::Addon& addon);

struct OwnedObjects {
  std::vector<base::Tree> objects;  ///< as the cluster has them, in the order of deletion
  std::vector<std::string> kept;    ///< listed, but not the add-on's: "Namespace kube-system: REASON"
};
/// Reads those of the listed objects that the add-on can have, and selects those with its labels. An object
/// that cannot be read is an error. `purpose`: clean_up also reads after Ctrl-C.
[[nodiscard]] Result<OwnedObjects> read_owned(const workload::Addon& addon,
                                              const std::vector<workload::ObjectName>& listed,
                                              ReachedCluster& cluster,
                                              transport::Purpose purpose = transport::Purpose::work);
/// What others have in the namespace of the add-on.
[[nodiscard]] Result<std::vector<std::string>> others_in(const workload::Addon& addon,
                                                         session::ClusterClient& client);
/// The namespace of the add-on and its record, as far as they exist.
[[nodiscard]] Result<std::vector<base::Tree>> find_namespace(
    const workload::Addon& addon, session::ClusterClient& client,
    transport::Purpose purpose = transport::Purpose::work);
/// Deletes the record of the namespace, once the namespace is deleted.
[[nodiscard]] Result<> forget_namespace(const workload::Addon& addon, session::ClusterClient& client);
/// A pod that a user has started in the add-on.
[[nodiscard]] bool is_addon_server(const base::Tree& object);

/// Prints what is deleted and what is kept, and asks, unless consent is given. False: nothing may be changed.
[[nodiscard]] Result<bool> confirm_deletion(const workload::Addon& addon, const OwnedObjects& owned,
                                            Consent consent, Io& io);

/// Deletes objects of an add-on, as read_owned orders them: what runs first, and with definitions of kinds
/// all objects of these kinds.
[[nodiscard]] Result<> delete_owned(const workload::Addon& addon, const std::vector<base::Tree>& objects,
                                    session::ClusterClient& client);

}  // namespace commands
