#include "app/bring_up.hpp"
#include "app/environment.hpp"
#include "app/run_playbook.hpp"

namespace app {

Result<Outcome> init(const InitOptions& options, Io& io) {
  return bring_up(options, Existing::refused, Outcome::done, io);
}

namespace {

/// A playbook on hosts, without judgement before.
Result<Outcome> play(const PlaybookOptions& options, const assets::Store& assets,
                     const playbook::Library& library, Io& io) {
  spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  TRY(resolve_environment(cluster, assets));
  const Session session = TRY(Session::open(cluster, options.common.connection, options.consent, io));
  const Survey survey = TRY(session.survey_all(assets));

  PlaybookRun playbook_run{cluster, assets, library, nullptr, {}, options.consent};
  playbook_run.reboots = options.reboots;
  return run_and_report(playbook_run, survey, session, options.format, io);
}

}  // namespace

Result<Outcome> run_user_playbook(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load_file(assets, options.playbook)), io);
}

Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load(assets, "runtime")), io);
}

}  // namespace app
