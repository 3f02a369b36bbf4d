#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/addon/queues.hpp"
#include "commands/operate/user/addition.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct UserAddOptions {
  UserTarget target;
  spec::User user{.name = {}, .ns = {}, .limits = {.gpus = spec::usual_gpus}, .group = {}};
  std::filesystem::path output;
  Consent consent = Consent::ask;
};

std::string quota_line(const workload::UserQuota& quota) {
  std::vector<std::string> parts;
  for (const auto& [entry, amount] : quota.hard)
    if (amount != "0" && !entry.starts_with("requests.deviceclass."))
      parts.push_back(fmt::format("{} {}", entry, amount));
  return parts.empty() ? "no GPUs" : base::join(parts, ", ");
}

void show_plan(const UserAddition& addition, Io& io) {
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
        plan.request.days, base::printable(addition.credentials.file.string(), 300));
  for (const std::string& line : lines_of(addition)) text += "  " + line + "\n";
  io.out(text);
  for (const std::string& note : addition.notes) io.err("note: " + note + "\n");
  if (!addition.cluster_note.empty()) io.err("note: " + addition.cluster_note + "\n");
}

/// Adds a user, or completes one whose addition was interrupted; a second run changes nothing.
Result<Outcome> user_add(const UserAddOptions& options, Io& io) {
  spec::User user = options.user;
  user.name = options.target.name;
  TRY(spec::check_user(user));
  const auto cluster = TRY(ReachedCluster::open(
      options.target.hosts, options.target.common,
      options.consent == Consent::preview ? session::Access::read_only : session::Access::full, io));
  session::ClusterClient& client = cluster->client();
  const UserAsked asked{
      user, options.target, WrittenIn::options, cluster->spec().name,
      options.output.empty() ? kubeconfig_file_of(cluster->spec(), user.name) : options.output};
  const UserAddition addition = TRY(plan_addition(asked, TRY(survey_users(client)), client));
  if (addition.empty()) {
    io.out(fmt::format("the user {} exists with these settings: nothing to do\n", user.name));
    io.out(fmt::format("  a new kubeconfig: {}\n", user_command("kubeconfig", options.target)));
    return Outcome::done;
  }
  show_plan(addition, io);
  if (options.consent == Consent::preview) {
    io.out("dry run: nothing was changed\n");
    return Outcome::done;
  }
  if (options.consent == Consent::ask &&
      !TRY(session::confirmed(fmt::format("Add the user {}?", user.name), io))) {
    io.out("nothing was changed\n");
    return Outcome::interrupted;
  }
  const auto certificate = TRY(make_addition(addition, asked, client, io));
  if (!certificate) {
    io.out(fmt::format("the user {} is complete\n", user.name));
    TRY(update_queues_of_users(client, io));
    return Outcome::done;
  }
  const std::string file = base::printable(addition.credentials.file.string(), 300);
  io.out(fmt::format("the user {} was added, in the namespace {}\n", user.name, user.name_space()));
  io.out(fmt::format("  {}\n", describe_end(*certificate, addition.credentials.lifetime)));
  io.out(fmt::format("  kubeconfig (contains the private key; give it to the user only): {}\n", file));
  io.out(fmt::format("  the user types: kubectl --kubeconfig {} get pods\n",
                     addition.credentials.file.filename().string()));
  if (const std::string note = note_of_file(options.target, user, UserIs::present, *cluster); !note.empty())
    io.err("note: " + note + "\n");
  TRY(update_queues_of_users(client, io));
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
            add_user_target(line, options.target);
            add_user_limits(line, options.user.limits,
                            "GPUs that the user may hold: 2, shares such as 1/4:2, MIG instances such as "
                            "1g.10gb:2, or several, separated by commas (default 1)");
            line.value("--namespace", options.user.ns, "NAMESPACE",
                       "Namespace of the user (default: the name)");
            line.flag("--existing-namespace", options.user.existing_namespace,
                      "Also use a namespace that exists: the user can read and delete everything in it");
            line.value("--group", options.user.group, "GROUP",
                       "Give the same rights to a group of another authenticator, such as OIDC");
            line.value("--days", options.user.days, "DAYS",
                       "How long the certificate is valid, from Kubernetes 1.22 (default 90); before, the "
                       "cluster decides")
                .range(1, 3650);
            line.value("--server", options.user.server, "URL",
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
