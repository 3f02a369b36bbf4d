#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/addon.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/operate/user/ensure.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

constexpr const char* enforce = "pod-security.kubernetes.io/enforce";

struct UserAddOptions {
  UserTarget user;
  workload::UserLimits limits{.gpus = "1", .cpus = {}, .memory = {}, .storage = {}};
  std::string ns, group, server;
  std::filesystem::path output;
  int days = 90;
  bool existing_namespace = false;  ///< may be one that gpuadm did not create
  Consent consent = Consent::ask;
};

/// What `user add` found, and will do.
struct UserAddition {
  workload::UserPlan plan;
  UserChanges changes;
  UserCredentials credentials;
  bool needs_certificate = true;
  std::optional<Tree> foreign_namespace;  ///< to get the label of Pod Security
  std::vector<std::string> notes;
};

/// The namespace as it is. Fault::blocked if it is another's and --existing-namespace is not given.
Result<std::optional<Tree>> read_namespace(const UserAddOptions& options,
                                           const workload::UserRequest& request,
                                           session::ClusterClient& client) {
  auto found = TRY(client.find({workload::reference_to({"v1", "Namespace", "", request.name_space()})}));
  if (found.empty()) return std::nullopt;
  Tree ns = std::move(found.front());
  if (ns.at({"metadata", "deletionTimestamp"}))
    return base::fail(Fault::blocked, fmt::format("the namespace {} is being deleted", request.name_space()),
                      "wait until it is deleted, then run again");
  const Tree* labels = ns.at({"metadata", "labels"});
  const bool is_own = labels && text_of(*labels, workload::kind_label) == workload::user_kind &&
                      text_of(*labels, workload::name_label) == request.name;
  if (is_own || options.existing_namespace) return ns;
  return base::fail(
      Fault::blocked,
      fmt::format("the namespace {} exists, and was not created for this user: the user could read "
                  "and delete everything in it",
                  request.name_space()),
      "choose another: --namespace NAME; or give the user this one: --existing-namespace");
}

/// A namespace that gpuadm did not create: rights of its service accounts, and its Pod Security.
Result<> plan_foreign_namespace(const Tree& ns, UserAddition& addition, session::ClusterClient& client) {
  TRY(workload::check_accounts(addition.plan.request.name_space(),
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
            "the namespace {} has the label {}=privileged: pods of the user could become root on nodes",
            addition.plan.request.name_space(), enforce),
        fmt::format("kubectl label namespace {} --overwrite {}=baseline", addition.plan.request.name_space(),
                    enforce));
  if (level.empty()) addition.foreign_namespace = ns;
  return {};
}

/// The user of this name, if there is one with the same settings.
Result<> check_same(const workload::UserState& user, const UserAddOptions& options,
                    const UserAddition& addition) {
  const workload::UserRequest& request = addition.plan.request;
  if (!user.ns.empty() && user.ns != request.name_space())
    return base::fail(Fault::blocked,
                      fmt::format("the user {} exists, in the namespace {}", user.name, user.ns),
                      "choose another name, or: " + user_command("show", options.user));
  if (user.has_rights && user.group != request.group)
    return base::fail(Fault::blocked,
                      fmt::format("the user {} exists, with {}", user.name,
                                  user.group.empty() ? "no group" : "the group " + user.group),
                      user_command("remove", options.user));
  for (const Tree& changed : addition.changes.changed)
    if (const std::string kind = text_of(changed, "kind"); kind == "ResourceQuota" || kind == "LimitRange")
      return base::fail(
          Fault::blocked,
          fmt::format("the user {} exists, with another quota: {}", user.name, workload::usage_of(user)),
          user_command("quota", options.user) + " --gpus N");
  return {};
}

Result<UserAddition> plan_addition(const UserAddOptions& options, ReachedCluster& cluster) {
  session::ClusterClient& client = cluster.client();
  UserAddition addition;
  workload::UserPlan& plan = addition.plan;
  plan.request = {options.user.name, options.ns, options.limits, options.group};
  const workload::UserRequest& request = plan.request;
  const auto users = TRY(read_users(client));
  const auto user = std::ranges::find(users, request.name, &workload::UserState::name);
  const bool exists = user != users.end();
  const base::Version kubernetes = TRY(api_version_of(client));
  if (kubernetes < base::Version{1, 19, -1})
    return base::fail(Fault::blocked,
                      fmt::format("Kubernetes {} has no API for client certificates of users (from 1.19)",
                                  kubernetes.minor_text()),
                      "gpuadm upgrade");
  plan.quota = TRY(workload::quota_of(request.limits, TRY(client.read_nodes_and_pods())));
  const bool has_identity = exists && workload::user_in_identity(user->identity) == request.name;
  plan.identity = has_identity ? user->identity : TRY(workload::new_identity(request.name));
  const auto ns = TRY(read_namespace(options, request, client));
  plan.makes_namespace = !ns || (exists && user->owns_namespace);
  if (!plan.makes_namespace) TRY(plan_foreign_namespace(*ns, addition, client));
  addition.changes = TRY(compare_user(plan, cluster));
  if (exists) TRY(check_same(*user, options, addition));
  const std::filesystem::path file =
      options.output.empty() ? kubeconfig_file_of(cluster.spec(), request.name) : options.output;
  workload::ApiServer api = TRY(read_api_server(client, options.server));
  TRY(check_kubeconfig_file(file, request.name, plan.identity, api));
  // Another administrator may have the kubeconfig of a user who exists.
  addition.needs_certificate = !has_identity || !user->ends;
  addition.credentials = {
      request.name,   request.name_space(), plan.identity, std::chrono::days(options.days),
      std::move(api), kubernetes,           file};
  addition.notes = plan.quota.notes;
  if (!plan.makes_namespace)
    addition.notes.push_back(
        fmt::format("the quota, the limits and Pod Security apply to all pods in {}, also to those of others",
                    request.name_space()));
  if (const std::string note = workload::pod_security_note(kubernetes); !note.empty())
    addition.notes.push_back(note);
  return addition;
}

std::string quota_line(const workload::UserQuota& quota) {
  std::vector<std::string> parts;
  for (const auto& [entry, amount] : quota.hard)
    if (amount != "0" && !entry.starts_with("requests.deviceclass."))
      parts.push_back(fmt::format("{} {}", entry, amount));
  return parts.empty() ? "no GPUs" : base::join(parts, ", ");
}

void show_plan(const UserAddition& addition, const UserAddOptions& options, Io& io) {
  const workload::UserPlan& plan = addition.plan;
  const std::string& ns = plan.request.name_space();
  std::string text = fmt::format("user {}\n", plan.request.name);
  text += fmt::format("  namespace: {}{}\n", ns,
                      plan.makes_namespace ? ", with Pod Security baseline" : ", not created by gpuadm");
  text += fmt::format("  quota: {}\n", quota_line(plan.quota));
  text += fmt::format(
      "  rights: pods, services, secrets, volumes, jobs and claims in {}; reads nodes and classes\n", ns);
  if (!plan.request.group.empty())
    text += fmt::format("  the same rights for the group: {}\n", plan.request.group);
  if (addition.needs_certificate)
    text += fmt::format(
        "  certificate: for {} days, signed by the cluster; the key stays on this machine\n"
        "  kubeconfig: {}\n",
        options.days, base::printable(addition.credentials.file.string(), 300));
  for (const std::string& line : lines_of(addition.changes)) text += "  " + line + "\n";
  if (addition.foreign_namespace) text += fmt::format("  label the namespace {}: {}=baseline\n", ns, enforce);
  io.out(text);
  for (const std::string& note : addition.notes) io.err("note: " + note + "\n");
}

Result<> label_namespace(const Tree& ns, session::ClusterClient& client) {
  const std::string name = text_at(ns, {"metadata", "name"});
  return client.patch(
      "default", "namespace/" + name,
      Tree::map_of(
          {{"metadata", Tree::map_of({{"resourceVersion", text_at(ns, {"metadata", "resourceVersion"})},
                                      {"labels", Tree::map_of({{enforce, "baseline"}})}})}}));
}

/// Adds a user, or completes one whose addition was interrupted; a second run changes nothing.
Result<Outcome> user_add(const UserAddOptions& options, Io& io) {
  TRY(workload::check_user({options.user.name, options.ns, options.limits, options.group}));
  const auto cluster = TRY(ReachedCluster::open(
      options.user.hosts, options.user.common,
      options.consent == Consent::preview ? session::Access::read_only : session::Access::full, io));
  const UserAddition addition = TRY(plan_addition(options, *cluster));
  if (addition.changes.empty() && !addition.needs_certificate && !addition.foreign_namespace) {
    io.out(fmt::format("the user {} exists with these settings: nothing to do\n", options.user.name));
    io.out(fmt::format("  a new kubeconfig: {}\n", user_command("kubeconfig", options.user)));
    return Outcome::done;
  }
  show_plan(addition, options, io);
  if (options.consent == Consent::preview) {
    io.out("dry run: nothing was changed\n");
    return Outcome::done;
  }
  if (options.consent == Consent::ask &&
      !TRY(session::confirmed(fmt::format("Add the user {}?", options.user.name), io))) {
    io.out("nothing was changed\n");
    return Outcome::interrupted;
  }
  if (addition.foreign_namespace) TRY(label_namespace(*addition.foreign_namespace, cluster->client()));
  TRY(apply_changes(addition.changes, addition.plan.request.name_space(), cluster->client()));
  if (!addition.needs_certificate) {
    io.out(fmt::format("the user {} is complete\n", options.user.name));
    return Outcome::done;
  }
  auto certificate = issue_credentials(addition.credentials, *cluster, io);
  if (!certificate) {
    base::Error error = certificate.error();
    error.what =
        fmt::format("the user {} was added, but has no certificate: {}", options.user.name, error.what);
    error.hint += (error.hint.empty() ? "" : "; then: ") + user_command("kubeconfig", options.user);
    return std::unexpected(std::move(error));
  }
  const std::string file = base::printable(addition.credentials.file.string(), 300);
  io.out(fmt::format("the user {} was added, in the namespace {}\n", options.user.name,
                     addition.plan.request.name_space()));
  io.out(fmt::format("  {}\n", describe_end(*certificate, addition.credentials.lifetime)));
  io.out(fmt::format("  kubeconfig (contains the private key; give it to the user only): {}\n", file));
  io.out(fmt::format("  the user types: kubectl --kubeconfig {} get pods\n",
                     addition.credentials.file.filename().string()));
  return Outcome::done;
}

}  // namespace

Command user_add_command() {
  return CommandRow<UserAddOptions>{
      .name = "user add",
      .group = Group::operate,
      .summary = "Add a user: namespace, quotas, rights, and a kubeconfig with a certificate",
      .options =
          [](Line& line, UserAddOptions& options) {
            add_user_target(line, options.user);
            add_user_limits(line, options.limits,
                            "GPUs that the user may hold: 2, shares such as 1/4:2, MIG instances such as "
                            "1g.10gb:2, or several, separated by commas (default 1)");
            line.value("--namespace", options.ns, "NAMESPACE", "Namespace of the user (default: the name)");
            line.flag("--existing-namespace", options.existing_namespace,
                      "Also use a namespace that exists: the user can read and delete everything in it");
            line.value("--group", options.group, "GROUP",
                       "Give the same rights to a group of another authenticator, such as OIDC");
            line.value("--days", options.days, "DAYS",
                       "How long the certificate is valid, from Kubernetes 1.22 (default 90); before, the "
                       "cluster decides")
                .range(1, 3650);
            line.value("--server", options.server, "URL",
                       "Address of the API server in the kubeconfig (default: that of the cluster)");
            line.value("--output", options.output, "FILE",
                       "Kubeconfig to write (default: in ~/.local/state/gpuadm)");
            add_preview(line, options.consent);
          },
      .examples = {{"gpuadm user add anna --gpus 1 -f cluster.yaml", "one GPU, in the namespace anna"},
                   {"gpuadm user add ben --gpus 2 --cpus 16 --memory 128Gi --storage 500Gi --days 30 -f "
                    "cluster.yaml",
                    "with more quotas, for a month"}},
      .run = user_add};
}

}  // namespace commands
