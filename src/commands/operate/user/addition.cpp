#include "commands/operate/user/addition.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* enforce = "pod-security.kubernetes.io/enforce";

/// How a setting is written: as an option, or as a key of a cluster file.
const char* written(const UserAsked& asked, const char* option, const char* key) {
  return asked.written == WrittenIn::options ? option : key;
}

/// The namespace as it is. Fault::blocked if it is another's, and may not be used.
Result<std::optional<Tree>> read_namespace(const UserAsked& asked, session::ClusterClient& client) {
  const std::string& name = asked.user.name_space();
  auto found = TRY(client.find({workload::reference_to({"v1", "Namespace", "", name})}));
  if (found.empty()) return std::nullopt;
  Tree ns = std::move(found.front());
  if (ns.at({"metadata", "deletionTimestamp"}))
    return base::fail(Fault::blocked, fmt::format("the namespace {} is being deleted", name),
                      "wait until it is deleted, then run again");
  const Tree* labels = ns.at({"metadata", "labels"});
  const bool is_own = labels && text_of(*labels, workload::kind_label) == workload::user_kind &&
                      text_of(*labels, workload::name_label) == asked.user.name;
  if (is_own || asked.user.existing_namespace) return ns;
  return base::fail(
      Fault::blocked,
      fmt::format("the namespace {} exists, and was not created for this user: the user could read "
                  "and delete everything in it",
                  name),
      fmt::format("choose another: {}; or give the user this one: {}",
                  written(asked, "--namespace NAME", "namespace: NAME"),
                  written(asked, "--existing-namespace", "existingNamespace: true")));
}

/// A namespace that gpuadm did not create: rights of its service accounts, and its Pod Security.
Result<> plan_foreign_namespace(const Tree& ns, UserAddition& addition, session::ClusterClient& client) {
  const std::string& name = addition.plan.request.name_space();
  TRY(workload::check_accounts(name,
                               TRY(client.get({.kinds = {"rolebindings.rbac.authorization.k8s.io",
                                                         "clusterrolebindings.rbac.authorization.k8s.io"},
                                               .ns = {},
                                               .selector = {}}))));
  const Tree* labels = ns.at({"metadata", "labels"});
  const std::string level = labels ? text_of(*labels, enforce) : "";
  if (level == "privileged")
    return base::fail(
        Fault::blocked,
        fmt::format(
            "the namespace {} has the label {}=privileged: pods of the user could become root on nodes", name,
            enforce),
        fmt::format("kubectl label namespace {} --overwrite {}=baseline", name, enforce));
  if (level.empty()) addition.foreign_namespace = ns;
  return {};
}

bool changes_limits(const UserChanges& changes) {
  return std::ranges::any_of(changes.missing, is_limit) || std::ranges::any_of(changes.changed, is_limit);
}

/// The user of this name, if there is one with the same settings.
Result<> check_same(const workload::UserState& user, const UserAsked& asked, const UserAddition& addition) {
  if (!user.ns.empty() && user.ns != asked.user.name_space())
    return base::fail(Fault::blocked,
                      fmt::format("the user {} exists, in the namespace {}", user.name, user.ns),
                      "choose another name, or: " + user_command("show", asked.target));
  if (user.has_rights && user.group != asked.user.group)
    return base::fail(Fault::blocked,
                      fmt::format("the user {} exists, with {}", user.name,
                                  user.group.empty() ? "no group" : "the group " + user.group),
                      user_command("remove", asked.target));
  if (asked.written == WrittenIn::options && std::ranges::any_of(addition.changes.changed, is_limit))
    return base::fail(
        Fault::blocked,
        fmt::format("the user {} exists, with another quota: {}", user.name, workload::usage_of(user)),
        user_command("quota", asked.target) + " --gpus N");
  return {};
}

/// A user of a cluster file without limits keeps the quota that it has, or none.
void keep_limits(UserChanges& changes) {
  UserChanges kept{.cluster_role = changes.cluster_role};
  for (Tree& object : changes.missing)
    if (!is_limit(object)) kept.missing.push_back(std::move(object));
  for (std::size_t i = 0; i < changes.changed.size(); ++i) {
    if (is_limit(changes.changed[i])) continue;
    kept.changed.push_back(std::move(changes.changed[i]));
    kept.existing.push_back(std::move(changes.existing[i]));
  }
  changes = std::move(kept);
}

/// The kubeconfig of a user who has none. Another administrator may have that of a user who exists.
Result<> plan_credentials(const UserAsked& asked, const UsersSurvey& survey, UserAddition& addition,
                          session::ClusterClient& client) {
  const workload::UserPlan& plan = addition.plan;
  addition.needs_certificate =
      !addition.existing || addition.existing->identity != plan.identity || !addition.existing->ends;
  if (!addition.needs_certificate) return {};
  workload::ApiServer api = TRY(read_api_server(client, asked.user.server));
  auto usable = check_kubeconfig_file(asked.kubeconfig, asked.user.name, plan.identity, api);
  if (!usable && asked.written == WrittenIn::cluster_file)
    usable.error().hint = "move this file, then run again";
  TRY(std::move(usable));
  addition.credentials = {asked.cluster,
                          asked.user.name,
                          asked.user.name_space(),
                          plan.identity,
                          std::chrono::days(asked.user.days),
                          std::move(api),
                          survey.kubernetes,
                          asked.kubeconfig};
  return {};
}

Result<> label_namespace(const Tree& ns, session::ClusterClient& client) {
  return client.patch(
      "default", "namespace/" + text_at(ns, {"metadata", "name"}),
      Tree::map_of(
          {{"metadata", Tree::map_of({{"resourceVersion", text_at(ns, {"metadata", "resourceVersion"})},
                                      {"labels", Tree::map_of({{enforce, "baseline"}})}})}}));
}

}  // namespace

bool is_limit(const Tree& object) {
  const std::string kind = text_of(object, "kind");
  return kind == "ResourceQuota" || kind == "LimitRange";
}

Result<UsersSurvey> survey_users(session::ClusterClient& client) {
  UsersSurvey survey;
  survey.users = TRY(read_users(client));
  survey.kubernetes = TRY(api_version_of(client));
  if (survey.kubernetes < base::Version{1, 19, -1})
    return base::fail(Fault::blocked,
                      fmt::format("Kubernetes {} has no API for client certificates of users (from 1.19)",
                                  survey.kubernetes.minor_text()),
                      "gpuadm upgrade");
  survey.cluster = TRY(client.read_nodes_and_pods());
  return survey;
}

Result<UserAddition> plan_addition(const UserAsked& asked, const UsersSurvey& survey,
                                   session::ClusterClient& client) {
  UserAddition addition;
  workload::UserPlan& plan = addition.plan;
  plan.request = asked.user;
  if (plan.request.limits.gpus.empty()) plan.request.limits.gpus = spec::usual_gpus;
  if (const auto user = std::ranges::find(survey.users, asked.user.name, &workload::UserState::name);
      user != survey.users.end())
    addition.existing = *user;
  const auto& existing = addition.existing;
  plan.quota = TRY(workload::quota_of(plan.request.limits, survey.cluster));
  const bool has_identity = existing && workload::user_in_identity(existing->identity) == asked.user.name;
  plan.identity = has_identity ? existing->identity : TRY(workload::new_identity(asked.user.name));
  const auto ns = TRY(read_namespace(asked, client));
  plan.makes_namespace = !ns || (existing && existing->owns_namespace);
  if (!plan.makes_namespace) TRY(plan_foreign_namespace(*ns, addition, client));
  addition.changes = TRY(compare_user(plan, client));
  if (existing) TRY(check_same(*existing, asked, addition));
  if (existing && existing->has_rights && !spec::has_limits(asked.user.limits)) keep_limits(addition.changes);
  TRY(plan_credentials(asked, survey, addition, client));
  if (changes_limits(addition.changes)) {
    addition.notes = plan.quota.notes;
    const auto exceeded =
        existing ? workload::exceeded_by(existing->used, plan.quota) : std::vector<std::string>();
    if (!exceeded.empty()) addition.notes.push_back(note_of_exceeded(exceeded));
  }
  if (!plan.makes_namespace)
    addition.notes.push_back(
        fmt::format("the quota, the limits and Pod Security apply to all pods in {}, also to those of others",
                    asked.user.name_space()));
  addition.cluster_note = workload::pod_security_note(survey.kubernetes);
  return addition;
}

std::vector<std::string> lines_of(const UserAddition& addition) {
  std::vector<std::string> lines = lines_of(addition.changes);
  if (addition.foreign_namespace)
    lines.push_back(
        fmt::format("label the namespace {}: {}=baseline", addition.plan.request.name_space(), enforce));
  return lines;
}

Result<std::optional<base::CertificateSubject>> make_addition(const UserAddition& addition,
                                                              const UserAsked& asked,
                                                              session::ClusterClient& client, Io& io) {
  if (addition.foreign_namespace) TRY(label_namespace(*addition.foreign_namespace, client));
  TRY(apply_changes(addition.changes, asked.user.name_space(), client));
  if (!addition.needs_certificate) return std::nullopt;
  auto certificate = complete_credentials(addition.credentials, client, io);
  if (certificate) return std::move(*certificate);
  base::Error error = certificate.error();
  error.what = fmt::format("the user {} was added, but has no certificate: {}", asked.user.name, error.what);
  error.hint += (error.hint.empty() ? "" : "; then: ") + user_command("kubeconfig", asked.target);
  return std::unexpected(std::move(error));
}

std::string note_of_file(const spec::Cluster& described, const std::string& file, const spec::User& user,
                         UserIs is) {
  if (described.users.empty()) return {};
  const spec::User* listed = spec::find_user(described, user.name);
  if (is == UserIs::removed)
    return listed
               ? fmt::format("{} lists the user {}: delete it there, or the next gpuadm apply adds it again",
                             file, user.name)
               : std::string();
  if (!listed)
    return fmt::format(
        "{} lists users, and not {}: add it there, or gpuadm diff shows it as a difference\n{}", file,
        user.name, base::trim(base::yaml::write(Tree(Tree::List{spec::to_tree(user)}))));
  const auto texts = [](const spec::UserLimits& all) {
    return std::array{all.gpus, all.cpus, all.memory, all.storage};
  };
  if (!spec::has_limits(listed->limits) || texts(listed->limits) == texts(user.limits)) return {};
  return fmt::format("{} has another quota for the user {}, which the next gpuadm apply sets", file,
                     user.name);
}

std::string note_of_file(const UserTarget& target, const spec::User& user, UserIs is,
                         ReachedCluster& cluster) {
  if (!target.hosts.file.empty())
    return note_of_file(cluster.spec(), base::printable(target.hosts.file.string(), 300), user, is);
  session::ClusterClient& client = cluster.client();
  const auto stored = find_stored_cluster(client.host(), client.fleet(), client.assets());
  if (!stored)
    return "whether the stored cluster file lists the user is unknown: " +
           base::printable(stored.error().what);
  return *stored ? note_of_file(**stored, "the cluster file that the cluster has stored", user, is)
                 : std::string();
}

}  // namespace commands
