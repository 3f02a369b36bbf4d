#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/addon/queues.hpp"
#include "commands/operate/user/ensure.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;

struct UserQuotaOptions {
  UserTarget user;
  workload::UserLimits limits;
  Consent consent = Consent::ask;
};

struct UserKubeconfigOptions {
  UserTarget user;
  std::string server;
  std::filesystem::path output;
  int days = 90;
  bool renew = false;   ///< also while the certificate in the file is valid
  bool revoke = false;  ///< earlier certificates lose their rights
  Consent consent = Consent::ask;
};

workload::UserPlan plan_of_user(const workload::UserState& user) {
  workload::UserPlan plan;
  plan.request = {user.name, user.ns, {}, user.group};
  plan.identity = user.identity;
  plan.makes_namespace = user.owns_namespace;
  return plan;
}

Result<> has_rights(const workload::UserState& user, const UserTarget& target) {
  if (user.has_rights && workload::user_in_identity(user.identity) == user.name) return {};
  return base::fail(Fault::blocked, fmt::format("the user {} is not complete: it has no rights", user.name),
                    user_command("add", target));
}

/// Shows the quota, or changes it. Running pods stay.
Result<Outcome> user_quota(const UserQuotaOptions& options, Io& io) {
  workload::UserLimits limits = options.limits;
  const bool changes_it =
      !limits.gpus.empty() || !limits.cpus.empty() || !limits.memory.empty() || !limits.storage.empty();
  const auto cluster = TRY(ReachedCluster::open(
      options.user.hosts, options.user.common,
      changes_it && options.consent != Consent::preview ? session::Access::full : session::Access::read_only,
      io));
  session::ClusterClient& client = cluster->client();
  const workload::UserState user = TRY(find_user(client, options.user.name));
  TRY(spec::check_user({user.name, user.ns, limits, {}}));
  if (!changes_it) {
    io.out(fmt::format("user {}: {}\n", user.name, workload::usage_of(user)));
    return Outcome::done;
  }
  TRY(has_rights(user, options.user));
  workload::UserPlan plan = plan_of_user(user);
  plan.quota = TRY(workload::changed_quota(user.hard, limits, TRY(client.read_nodes_and_pods())));
  plan.request.limits = limits;
  const UserChanges changes = TRY(compare_user(plan, client));
  for (const std::string& note : plan.quota.notes) io.err("note: " + note + "\n");
  if (changes.empty()) {
    io.out(fmt::format("user {}: {}: nothing to do\n", user.name, workload::usage_of(user)));
    return Outcome::done;
  }
  workload::UserState after = user;
  after.hard = plan.quota.hard;
  io.out(fmt::format("user {}\n  now: {}\n  then: {}\n", user.name, workload::usage_of(user),
                     workload::usage_of(after)));
  const auto exceeded = workload::exceeded_by(user.used, plan.quota);
  if (!exceeded.empty()) io.err("note: " + note_of_exceeded(exceeded) + "\n");
  if (options.consent == Consent::preview ||
      (options.consent == Consent::ask && !TRY(session::confirmed("Change the quota?", io)))) {
    io.out(options.consent == Consent::preview ? "dry run: nothing was changed\n" : "nothing was changed\n");
    return options.consent == Consent::preview ? Outcome::done : Outcome::interrupted;
  }
  TRY(apply_changes(changes, user.ns, client));
  io.out(fmt::format("the quota of {} was changed\n", user.name));
  TRY(update_queues_of_users(client, io));
  return Outcome::done;
}

/// With another identity, certificates that were issued before have no rights.
Result<> replace_identity(workload::UserState& user, session::ClusterClient& client) {
  const std::string identity = TRY(workload::new_identity(user.name));
  workload::UserPlan plan = plan_of_user(user);
  plan.identity = identity;
  UserChanges changes = TRY(compare_user(plan, client));
  UserChanges bindings;
  for (std::size_t i = 0; i < changes.changed.size(); ++i)
    if (text_of(changes.changed[i], "kind").ends_with("Binding")) {
      bindings.changed.push_back(changes.changed[i]);
      bindings.existing.push_back(changes.existing[i]);
    }
  TRY(apply_changes(bindings, user.ns, client));
  user.identity = identity;
  return {};
}

/// Asks before the rights are taken from earlier certificates. Nothing: they may be; otherwise how it ended.
Result<std::optional<Outcome>> confirm_revocation(const UserKubeconfigOptions& options, Io& io) {
  io.out(fmt::format("will take the rights from all earlier certificates of {}\n", options.user.name));
  if (options.consent == Consent::preview) {
    io.out("dry run: nothing was changed\n");
    return Outcome::done;
  }
  if (options.consent == Consent::given || TRY(session::confirmed("Revoke them?", io))) return std::nullopt;
  io.out("nothing was changed\n");
  return Outcome::interrupted;
}

/// Writes a kubeconfig with a new certificate, unless the file has a valid one.
Result<Outcome> user_kubeconfig(const UserKubeconfigOptions& options, Io& io) {
  const auto cluster = TRY(ReachedCluster::open(
      options.user.hosts, options.user.common,
      options.consent == Consent::preview ? session::Access::read_only : session::Access::full, io));
  session::ClusterClient& client = cluster->client();
  workload::UserState user = TRY(find_user(client, options.user.name));
  TRY(has_rights(user, options.user));
  const std::filesystem::path file =
      options.output.empty() ? kubeconfig_file_of(cluster->spec(), user.name) : options.output;
  const std::string shown = base::printable(file.string(), 300);
  const workload::ApiServer api = TRY(read_api_server(client, options.server));
  TRY(check_kubeconfig_file(file, user.name, user.identity, api));
  const std::chrono::days days(options.days);
  if (const auto valid = valid_certificate_in(file, user.identity);
      valid && !options.renew && !options.revoke) {
    io.out(fmt::format("{}: the certificate of {} ends {}; --renew replaces it\n", shown, user.name,
                       workload::end_of(std::chrono::duration<double>(valid->ends.time_since_epoch()).count(),
                                        base::now())));
    return Outcome::done;
  }
  const base::Version kubernetes = TRY(api_version_of(client));
  if (options.revoke) {
    if (const auto ended = TRY(confirm_revocation(options, io))) return *ended;
    TRY(replace_identity(user, client));
  }
  const auto certificate = issue_credentials(
      {cluster->spec().name, user.name, user.ns, user.identity, days, api, kubernetes, file}, client, io);
  if (!certificate && options.revoke) {
    base::Error error = certificate.error();
    error.what = fmt::format("earlier certificates of {} have no rights now, and there is no new one: {}",
                             user.name, error.what);
    error.hint += (error.hint.empty() ? "" : "; then: ") + user_command("kubeconfig", options.user);
    return std::unexpected(std::move(error));
  }
  if (!certificate) return std::unexpected(certificate.error());
  if (options.revoke) io.out(fmt::format("earlier certificates of {} have no rights now\n", user.name));
  io.out(fmt::format("{}: wrote the kubeconfig of {}; give it to the user only\n  {}\n", shown, user.name,
                     describe_end(*certificate, days)));
  return Outcome::done;
}

}  // namespace

Command user_quota_command() {
  return CommandRow<UserQuotaOptions>{
      .name = "user quota",
      .group = Group::operate,
      .summary = "Show the quota of a user, or change it",
      .options =
          [](Line& line, UserQuotaOptions& options) {
            add_user_target(line, options.user);
            add_user_limits(
                line, options.limits,
                "GPUs that the user may hold: 2, 1/4:2, 1g.10gb:2, or several, separated by commas");
            add_preview(line, options.consent);
          },
      .examples = {{"gpuadm user quota anna -f cluster.yaml", "what is used of it"},
                   {"gpuadm user quota anna --gpus 4 -f cluster.yaml", "four GPUs"}},
      .run = user_quota};
}

Command user_kubeconfig_command() {
  return CommandRow<UserKubeconfigOptions>{
      .name = "user kubeconfig",
      .group = Group::operate,
      .summary = "Write the kubeconfig of a user with a new certificate",
      .options =
          [](Line& line, UserKubeconfigOptions& options) {
            add_user_target(line, options.user);
            line.flag("--renew", options.renew, "Also if the certificate in the file is valid");
            const Option revoke =
                line.flag("--revoke", options.revoke,
                          "Take the rights from all earlier certificates of the user, after a question");
            line.value("--days", options.days, "DAYS",
                       "How long the certificate is valid, from Kubernetes 1.22 (default 90)")
                .range(1, 3650);
            line.value("--server", options.server, "URL",
                       "Address of the API server in the kubeconfig (default: that of the cluster)");
            line.value("--output", options.output, "FILE",
                       "Kubeconfig to write (default: in ~/.local/state/gpuadm)");
            Option dry_run = add_dry_run(line, options.consent);
            add_yes(line, options.consent).excludes(dry_run).needs(revoke);
            dry_run.needs(revoke);
          },
      .examples = {{"gpuadm user kubeconfig anna --renew -f cluster.yaml", "before the certificate ends"},
                   {"gpuadm user kubeconfig anna --revoke -f cluster.yaml", "after a laptop was lost"}},
      .run = user_kubeconfig};
}

}  // namespace commands
