#include "commands/install/addon/owned.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/queues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace commands {

namespace {

using base::Tree;
using workload::Addon;
using workload::ObjectName;

/// What others have in the namespace of an add-on, without what Kubernetes makes in every namespace.
bool is_automatic(const Tree& object) {
  const std::string kind = text_of(object, "kind"), name = text_at(object, {"metadata", "name"});
  return (kind == "ServiceAccount" && name == "default") ||
         (kind == "Secret" && text_of(object, "type") == "kubernetes.io/service-account-token") ||
         object.at({"metadata", "ownerReferences"});
}

/// Whether a ConfigMap has the name and the content of one in kube-public: certificates, such as
/// kube-root-ca.crt or that of OpenShift, which a controller publishes in every namespace.
bool is_published(const Tree& object, const std::vector<Tree>& in_public) {
  const auto content = [](const Tree& map) {
    const Tree* data = map.find("data");
    return data ? base::json::write(*data, 0) : std::string();
  };
  return text_of(object, "kind") == "ConfigMap" && std::ranges::any_of(in_public, [&](const Tree& other) {
           return text_at(other, {"metadata", "name"}) == text_at(object, {"metadata", "name"}) &&
                  content(other) == content(object);
         });
}

}  // namespace

Result<std::vector<ObjectName>> possible_objects(const Addon& addon, const assets::Store& assets) {
  auto names = TRY(workload::manifest_names(addon, TRY(assets.read(addon.manifest))));
  names.push_back(workload::inventory_object(addon));
  const std::string ns(addon.ns);
  const bool has_claim = addon.name != "local-path" &&
                         std::ranges::any_of(addon.settings, [](const workload::AddonSetting& setting) {
                           return setting.name == "storage";
                         });
  if (has_claim)
    for (const Tree& object : workload::objects_of(spec::Storage(), {"", ns, "", {}}, {}))
      names.push_back(workload::name_of(object));
  if (addon.name == "jupyterhub") {
    names.push_back(hub_secret(addon));
    // The group of claims for GPUs; its version depends on the cluster.
    names.push_back({"resource.k8s.io/v1", "ResourceClaimTemplate", ns, ""});
  }
  return names;
}

Result<OwnedObjects> read_owned(const Addon& addon, const std::vector<ObjectName>& listed,
                                ReachedCluster& cluster, transport::Purpose purpose) {
  auto reviewed = workload::review_inventory(listed, addon, TRY(possible_objects(addon, cluster.assets())));
  std::vector<Tree> references;
  for (const ObjectName& name : reviewed.possible) references.push_back(workload::reference_to(name));
  const auto existing = TRY(cluster.client().find(references, purpose));
  OwnedObjects owned;
  owned.objects = workload::owned_objects(existing, addon, reviewed);
  std::ranges::reverse(owned.objects);
  // The inventory goes with its namespace, so that a deletion that was interrupted can be repeated.
  if (std::ranges::any_of(owned.objects,
                          [](const Tree& object) { return text_of(object, "kind") == "Namespace"; }))
    std::erase_if(owned.objects, [&](const Tree& object) {
      return workload::name_of(object) == workload::inventory_object(addon);
    });
  // Without the hub, nothing starts a notebook again.
  std::ranges::stable_partition(owned.objects,
                                [](const Tree& object) { return text_of(object, "kind") == "Deployment"; });
  owned.kept = std::move(reviewed.kept);
  return owned;
}

Result<> delete_owned(const Addon& addon, const std::vector<Tree>& objects, session::ClusterClient& client) {
  const auto definitions = std::ranges::find_if(
      objects, [](const Tree& object) { return text_of(object, "kind") == "CustomResourceDefinition"; });
  TRY(client.remove_objects({objects.begin(), definitions}));
  if (definitions == objects.end()) return {};
  // The controller would write to them until its pod has ended.
  TRY(client.remove(std::string(addon.ns), {"pods"},
                    workload::selector_of(workload::addon_kind, addon.name)));
  TRY(delete_queues(client));
  return client.remove_objects({definitions, objects.end()});
}

Result<std::vector<std::string>> others_in(const Addon& addon, session::ClusterClient& client) {
  std::vector<std::string> names;
  std::optional<std::vector<Tree>> in_public;
  for (const Tree& object :
       TRY(client.get({.kinds = {"deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch",
                                 "cronjobs.batch", "pods", "services", "persistentvolumeclaims", "configmaps",
                                 "secrets", "serviceaccounts", "roles.rbac.authorization.k8s.io",
                                 "rolebindings.rbac.authorization.k8s.io", "ingresses.networking.k8s.io",
                                 "networkpolicies.networking.k8s.io"},
                       .ns = std::string(addon.ns),
                       .selector = {}})))
    if (!workload::is_of_addon(object, addon) && !is_addon_server(object) && !is_automatic(object)) {
      if (!in_public && text_of(object, "kind") == "ConfigMap")
        in_public = TRY(client.get({.kinds = {"configmaps"}, .ns = "kube-public", .selector = {}}));
      if (in_public && is_published(object, *in_public)) continue;
      names.push_back(workload::describe(workload::name_of(object)));
    }
  return names;
}

Result<std::vector<Tree>> find_namespace(const Addon& addon, session::ClusterClient& client,
                                         transport::Purpose purpose) {
  return client.find({workload::reference_to({"v1", "Namespace", "", std::string(addon.ns)}),
                      workload::reference_to(workload::namespace_record(addon))},
                     purpose);
}

Result<> forget_namespace(const Addon& addon, session::ClusterClient& client) {
  const auto found = TRY(find_namespace(addon, client, transport::Purpose::clean_up));
  if (std::ranges::any_of(found, [](const Tree& object) { return text_of(object, "kind") == "Namespace"; }))
    return {};
  return client.remove_objects(found);
}

bool is_addon_server(const Tree& object) {
  const Tree* labels = object.at({"metadata", "labels"});
  return labels && text_of(*labels, workload::kind_label) == workload::addon_server_kind;
}

Result<bool> confirm_deletion(const Addon& addon, const OwnedObjects& owned, Consent consent, Io& io) {
  for (const std::string& kept : owned.kept)
    io.err(fmt::format("the inventory of the add-on {} lists what is not deleted: {}\n", addon.name, kept));
  if (owned.objects.empty()) return true;
  std::string list = fmt::format("will delete of the add-on {}:\n", addon.name);
  for (const Tree& object : owned.objects)
    list += fmt::format("  {}\n", workload::describe(workload::name_of(object)));
  io.out(list);
  if (consent == Consent::given) return true;
  if (consent == Consent::ask && TRY(session::confirmed("Delete them?", io))) return true;
  io.out(consent == Consent::preview ? "dry run: nothing was changed\n" : "nothing was changed\n");
  return false;
}

}  // namespace commands
