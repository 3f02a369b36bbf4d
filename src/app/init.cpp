#include "app/conduct.hpp"
#include "app/raise.hpp"
#include "app/surroundings.hpp"

namespace app {

Result<Outcome> init(const InitOptions& options, Io& io) {
  return bring_up(options, Existing::refused, Outcome::done, io);
}

namespace {

/// A playbook on hosts, without judgement before.
Result<Outcome> play(const PlaybookOptions& options, const assets::Store& assets,
                     const playbook::Library& library, Io& io) {
  spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  TRY(settle_surroundings(cluster, assets));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  const Seen seen = TRY(visit.see_all(assets));

  Score score{cluster, assets, library, nullptr, {}, options.consent};
  score.reboots = options.reboots;
  return conduct_and_tell(score, seen, visit, options.format, io);
}

}  // namespace

Result<Outcome> run_playbook(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load_file(assets, options.playbook)), io);
}

Result<Outcome> runtime_configure(const PlaybookOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  return play(options, assets, TRY(playbook::Library::load(assets, "runtime")), io);
}

}  // namespace app
