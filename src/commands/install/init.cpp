#include "gpuadm/session/environment.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/install/bring_up.hpp"
#include "commands/install/identity.hpp"

namespace commands {

Result<Outcome> init(const InitOptions& options, Io& io) {
  return bring_up(options, Existing::refused, Outcome::done, io);
}

namespace {

/// Runs a playbook on hosts, without checks first.
Result<Outcome> play(const PlaybookOptions& options, const assets::Store& assets,
                     const playbook::Library& library, Workers workers, Io& io) {
  spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  TRY(session::resolve_environment(cluster, assets));
  const session::Session session =
      TRY(session::Session::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  cluster =
      TRY(identify(std::move(cluster), options.hosts.file, survey, *session.fleet, assets, workers)).cluster;
  TRY(session::resolve_environment(cluster, assets));

  session::PlaybookRun playbook_run{cluster, assets, library, nullptr, {}, options.consent};
  playbook_run.reboots = options.reboots;
  return session::run_and_report(playbook_run, survey, session, options.format, io);
}

}  // namespace

Result<Outcome> run_user_playbook(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load_file(assets, options.playbook)), Workers::accepted,
              io);
}

Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load(assets, "runtime")), Workers::refused, io);
}

}  // namespace commands
