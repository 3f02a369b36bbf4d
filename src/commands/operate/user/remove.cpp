#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/state.hpp"
#include "gpuadm/workload/storage.hpp"

#include "commands/install/addon/queues.hpp"
#include "commands/operate/user/addition.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

struct UserRemoveOptions {
  UserTarget user;
  Consent consent = Consent::ask;
};

/// What is lost with the namespace.
struct UserHoldings {
  std::vector<std::string> workloads, volumes;
  std::vector<Tree> storage_volumes;  ///< PersistentVolumes of claims on storages, whose files stay
};

bool is_owned(const Tree& object) {
  const Tree* owners = object.at({"metadata", "ownerReferences"});
  return owners && !owners->items().empty();
}

Result<UserHoldings> read_holdings(const workload::UserState& user, session::ClusterClient& client) {
  UserHoldings holdings;
  if (user.ns.empty()) return holdings;
  for (const Tree& object :
       TRY(client.get({.kinds = {"deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch",
                                 "cronjobs.batch", "pods", "persistentvolumeclaims"},
                       .ns = user.ns,
                       .selector = {}}))) {
    if (is_owned(object)) continue;
    std::string name = workload::describe(workload::name_of(object));
    if (text_of(object, "kind") != "PersistentVolumeClaim") {
      holdings.workloads.push_back(std::move(name));
      continue;
    }
    holdings.volumes.push_back(fmt::format(
        "{} ({})", name, base::printable(text_at(object, {"spec", "resources", "requests", "storage"}), 50)));
  }
  for (Tree& volume : TRY(client.get({{"persistentvolumes"},
                                      {},
                                      fmt::format("{}={},{}", workload::managed_by_label,
                                                  workload::managed_by, workload::storage_label)})))
    if (text_at(volume, {"spec", "claimRef", "namespace"}) == user.ns)
      holdings.storage_volumes.push_back(std::move(volume));
  return holdings;
}

/// Rights and quota of the user, in the order of deletion: rights first. Other users may be in a namespace.
Result<std::vector<Tree>> read_user_objects(const workload::UserState& user, session::ClusterClient& client) {
  const std::vector<std::string> kinds = {"rolebindings.rbac.authorization.k8s.io",
                                          "clusterrolebindings.rbac.authorization.k8s.io",
                                          "roles.rbac.authorization.k8s.io", "resourcequotas", "limitranges"};
  auto objects = TRY(client.get(
      {.kinds = kinds, .ns = {}, .selector = workload::selector_of(workload::user_kind, user.name)}));
  std::ranges::stable_partition(
      objects, [](const Tree& object) { return text_of(object, "kind").ends_with("Binding"); });
  return objects;
}

void show_losses(const workload::UserState& user, const UserHoldings& holdings, Io& io) {
  std::string text =
      fmt::format("will remove the user {}, whose certificates then have no rights\n", user.name);
  if (!user.owns_namespace) {
    text += fmt::format("  the namespace {} stays with everything in it, because gpuadm did not create it\n",
                        user.ns);
    io.out(text);
    return;
  }
  text += fmt::format("  and delete the namespace {} with everything in it:\n", user.ns);
  for (const std::string& name : holdings.workloads) text += fmt::format("    {}\n", name);
  for (const std::string& name : holdings.volumes) text += fmt::format("    {}\n", name);
  if (holdings.workloads.empty() && holdings.volumes.empty()) text += "    no workloads and no volumes\n";
  io.out(text);
}

/// The other users whose rights are in the namespace.
Result<> check_shared(const workload::UserState& user, const std::vector<workload::UserState>& users) {
  if (!user.owns_namespace) return {};
  for (const workload::UserState& other : users)
    if (other.name != user.name && other.ns == user.ns)
      return base::fail(Fault::blocked,
                        fmt::format("the namespace {} would be deleted, and is also that of the user {}",
                                    user.ns, other.name),
                        fmt::format("gpuadm user remove {}", other.name));
  return {};
}

Result<> delete_user(const workload::UserState& user, const std::vector<Tree>& objects,
                     const UserHoldings& holdings, session::ClusterClient& client) {
  const auto rest = std::ranges::find_if(
      objects, [](const Tree& object) { return !text_of(object, "kind").ends_with("Binding"); });
  TRY(client.remove_objects({objects.begin(), rest}));
  if (!user.owns_namespace) return client.remove_objects({rest, objects.end()});
  const auto ns = TRY(
      client.find({workload::reference_to({"v1", "Namespace", "", user.ns})}, transport::Purpose::clean_up));
  // Pods may take minutes to end.
  TRY(client.remove_objects(ns));
  return client.remove_objects(holdings.storage_volumes);
}

/// The ClusterRole of all users, if this was the last one.
Result<> remove_cluster_role(session::ClusterClient& client) {
  if (!TRY(read_users(client)).empty()) return {};
  auto found = TRY(client.find({workload::reference_to({"rbac.authorization.k8s.io/v1", "ClusterRole", "",
                                                        std::string(workload::user_cluster_role)})},
                               transport::Purpose::clean_up));
  std::erase_if(found, [](const Tree& object) { return !workload::is_managed(object); });
  return client.remove_objects(found);
}

/// Shows what would be lost, asks, takes the rights, and deletes the namespace if gpuadm made it.
Result<Outcome> user_remove(const UserRemoveOptions& options, Io& io) {
  const auto cluster = TRY(ReachedCluster::open(
      options.user.hosts, options.user.common,
      options.consent == Consent::preview ? session::Access::read_only : session::Access::full, io));
  session::ClusterClient& client = cluster->client();
  const workload::UserState user = TRY(find_user(client, options.user.name));
  TRY(check_shared(user, TRY(read_users(client))));
  const auto objects = TRY(read_user_objects(user, client));
  const UserHoldings holdings = TRY(read_holdings(user, client));
  show_losses(user, holdings, io);
  const bool loses = user.owns_namespace && !(holdings.workloads.empty() && holdings.volumes.empty());
  if (options.consent == Consent::preview ||
      (options.consent == Consent::ask &&
       !TRY(session::confirmed(loses ? "Remove the user, and delete all of this?" : "Remove the user?",
                               io)))) {
    io.out(options.consent == Consent::preview ? "dry run: nothing was changed\n" : "nothing was changed\n");
    return options.consent == Consent::preview ? Outcome::done : Outcome::interrupted;
  }
  report_deletion("the user " + user.name, io);
  TRY(delete_user(user, objects, holdings, client));
  TRY(remove_cluster_role(client));
  const std::filesystem::path file = kubeconfig_file_of(cluster->spec(), user.name);
  std::error_code error;
  if (!user.identity.empty() && identity_in(file) == user.identity && std::filesystem::remove(file, error))
    io.out(fmt::format("deleted {}\n", base::printable(file.string(), 300)));
  io.out(fmt::format("the user {} was removed\n", user.name));
  TRY(update_queues_of_users(client, io));
  const spec::User removed{.name = user.name, .ns = {}, .limits = {}, .group = {}};
  if (const std::string note = note_of_file(options.user, removed, UserIs::removed, *cluster); !note.empty())
    io.err("note: " + note + "\n");
  if (user.owns_namespace)
    for (const Tree& volume : holdings.storage_volumes)
      io.out(fmt::format("files on a storage stay: {}\n",
                         base::printable(text_at(volume, {"spec", "hostPath", "path"}), 300)));
  return Outcome::done;
}

}  // namespace

Command user_remove_command() {
  return CommandRow<UserRemoveOptions>{
      .name = "user remove",
      .group = Group::operate,
      .summary = "Remove a user and, with everything in it, the namespace that was made for the user",
      .options =
          [](Line& line, UserRemoveOptions& options) {
            add_user_target(line, options.user);
            add_preview(line, options.consent);
          },
      .examples = {{"gpuadm user remove anna --dry-run -f cluster.yaml", "show what would be lost"},
                   {"gpuadm user remove anna -f cluster.yaml", "show it, ask, remove"}},
      .run = user_remove};
}

}  // namespace commands
