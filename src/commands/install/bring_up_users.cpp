#include "commands/install/bring_up_users.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/addon/queues.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using report::Did;

/// How a made user is reported: where the kubeconfig is, and when its certificate ends.
std::string made(const DescribedUser& user, const std::optional<base::CertificateSubject>& certificate) {
  if (!certificate) return fmt::format("the user {} is complete", user.asked.user.name);
  const UserCredentials& credentials = user.addition.credentials;
  return fmt::format(
      "the user {} was added: kubeconfig (contains the private key; give it to the user only): "
      "{}; {}",
      user.asked.user.name, base::printable(credentials.file.string(), 300),
      describe_end(*certificate, credentials.lifetime));
}

std::string step_of(const std::string& user) {
  return "user " + user;
}

}  // namespace

UsersStage::UsersStage(const BringUpRun& run)
    : ListedStage(run, users_phase, users_title, !run.identity.cluster.users.empty()),
      target_{run.options.common, run.options.hosts, {}} {}

Result<DescribedUsers> UsersStage::compare() {
  auto client = TRY(session::ClusterClient::open(run().identity.cluster, *run().session.fleet, run().assets));
  return compare_users(run().identity.cluster, target_, client);
}

Result<int> UsersStage::preview(report::Reporter& reporter) {
  reporter.on(begins());
  if (run().identity.control_plane.empty()) {
    for (const spec::User& user : run().identity.cluster.users)
      reporter.on(event_of(step_of(user.name), Did::needed, "Add the user " + user.name));
    return static_cast<int>(run().identity.cluster.users.size());
  }
  const bool previews = run().options.consent == Consent::preview;
  const auto users = compare();
  if (!users) {
    const Fault fault = users.error().fault;
    if (previews || fault == Fault::blocked || fault == Fault::interrupted)
      return std::unexpected(users.error());
    session::notify(reporter, Did::note,
                    "users are compared after the hosts: " + base::printable(users.error().what, 500));
    return 1;
  }
  for (const DescribedUser& user : users->changes) {
    report::Event event = event_of(step_of(user.asked.user.name), Did::needed, title_of(user.addition));
    event.diff = diff_of(user.addition);
    reporter.on(event);
  }
  for (const std::string& note : notes_of(*users)) session::notify(reporter, Did::note, note);
  for (const std::string& name : users->not_listed)
    session::notify(reporter, Did::note, note_of_not_listed(name, target_));
  const std::size_t differences = users->changes.size() + (previews ? users->not_listed.size() : 0);
  return static_cast<int>(differences);
}

Result<Outcome> UsersStage::apply(report::Reporter& reporter, Io& io) {
  const auto users = compare();
  if (!users) return failed({}, users.error(), reporter);
  if (!users->changes.empty()) reporter.on(begins());
  auto client = TRY(session::ClusterClient::open(run().identity.cluster, *run().session.fleet, run().assets));
  for (const DescribedUser& user : users->changes) {
    const std::string& name = user.asked.user.name;
    const std::string title = title_of(user.addition);
    reporter.on(event_of(step_of(name), Did::started, title));
    const auto certificate = make_addition(user.addition, user.asked, client, io);
    if (!certificate) return failed(step_of(name), certificate.error(), reporter);
    reporter.on(event_of(step_of(name), Did::applied, title));
    session::notify(reporter, Did::note, made(user, *certificate));
  }
  if (users->changes.empty()) return Outcome::done;
  if (const auto updated = update_queues_of_users(client, io); !updated)
    return failed({}, updated.error(), reporter);
  return Outcome::done;
}

}  // namespace commands
