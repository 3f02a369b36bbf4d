#include "commands/install/bring_up_users.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

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

report::Event phase_begins() {
  report::Event event;
  event.stage = users_phase;
  event.did = Did::started;
  event.detail = users_title;
  return event;
}

}  // namespace

UsersStage::UsersStage(const BringUpRun& run)
    : run_(run),
      target_{run.options.common, run.options.hosts, {}},
      host_(run.identity.control_plane),
      chosen_(run.setup.playbook == "init" && !run.options.hosts.file.empty() && run.options.phases.empty() &&
              !run.identity.cluster.users.empty()) {
  const spec::Host* first = playbook::first_control_plane(run.identity.cluster, run.survey.census);
  if (host_.empty() && first) host_ = first->name;
}

Result<DescribedUsers> UsersStage::compare() {
  auto client = TRY(session::ClusterClient::open(run_.identity.cluster, *run_.session.fleet, run_.assets));
  return compare_users(run_.identity.cluster, target_, client);
}

report::Event UsersStage::event_of(const std::string& user, Did did, const std::string& detail) const {
  report::Event event;
  event.host = host_;
  event.stage = users_phase;
  event.step = user.empty() ? users_phase : "user " + user;
  event.did = did;
  event.detail = detail;
  return event;
}

Result<int> UsersStage::preview(report::Reporter& reporter) {
  reporter.on(phase_begins());
  if (run_.identity.control_plane.empty()) {
    for (const spec::User& user : run_.identity.cluster.users)
      reporter.on(event_of(user.name, Did::needed, "Add the user " + user.name));
    return static_cast<int>(run_.identity.cluster.users.size());
  }
  const bool previews = run_.options.consent == Consent::preview;
  const auto users = compare();
  if (!users) {
    const Fault fault = users.error().fault;
    if (previews || fault == Fault::blocked || fault == Fault::interrupted)
      return std::unexpected(users.error());
    session::notify(reporter, Did::note,
                    "users are compared after the hosts: " + base::printable(users.error().what, 500));
    return 0;
  }
  for (const DescribedUser& user : users->changes) {
    report::Event event = event_of(user.asked.user.name, Did::needed, title_of(user.addition));
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
  if (!users->changes.empty()) reporter.on(phase_begins());
  auto client = TRY(session::ClusterClient::open(run_.identity.cluster, *run_.session.fleet, run_.assets));
  for (const DescribedUser& user : users->changes) {
    const std::string& name = user.asked.user.name;
    const std::string title = title_of(user.addition);
    reporter.on(event_of(name, Did::started, title));
    const auto certificate = make_addition(user.addition, user.asked, client, io);
    if (!certificate) return failed(name, certificate.error(), reporter);
    reporter.on(event_of(name, Did::applied, title));
    session::notify(reporter, Did::note, made(user, *certificate));
  }
  return Outcome::done;
}

/// Hosts may have changed before: no fault here means that nothing was changed.
Result<Outcome> UsersStage::failed(const std::string& user, const base::Error& error,
                                   report::Reporter& reporter) const {
  if (error.fault == Fault::interrupted) return std::unexpected(error);
  report::Event event = event_of(user, Did::failed, error.what);
  event.hint = error.hint;
  reporter.on(event);
  return Outcome::failed;
}

}  // namespace commands
