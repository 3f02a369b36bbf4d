#include "app/conduct.hpp"
#include "app/way_back.hpp"

namespace app {

namespace {

Result<Outcome> take_back(const assets::Store& assets, const std::string& functions,
                          const UndoOptions& options, const Visit& visit, report::Reporter& reporter,
                          Io& io) {
  const plan::Undo undo{.run = options.run, .all = options.all, .force = options.force};
  Ways ways = TRY(ways_back(TRY(read_journals(*visit.fleet, visit.fleet->hosts(), functions)), undo));
  Performance performance{assets, plan::to_plan(ways, functions), {}, options.consent, {}};
  performance.again = [&](const std::set<std::string>&) -> Result<plan::Plan> {
    ways = TRY(ways_back(TRY(read_journals(*visit.fleet, visit.fleet->hosts(), functions)), undo));
    return plan::to_plan(ways, functions);
  };
  for (const auto& [host, way] : ways)
    if (!way.stages.empty()) performance.hosts.push_back(host);
  const bool kept = tell_kept(reporter, ways);
  if (performance.hosts.empty()) {
    tell(reporter, report::Did::finished, "", kept ? "nothing was changed" : "there is nothing to undo");
    return kept ? Outcome::failed : Outcome::done;
  }
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || !kept || options.consent == Consent::preview) return outcome;
  tell_kept(reporter, ways);
  return Outcome::failed;
}

}  // namespace

Result<Outcome> undo(const UndoOptions& options, Io& io) {
  if (options.all && !options.run.empty())
    return base::fail(base::Fault::usage, "--all and --run are one too many", "--all undoes every run");
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const std::string functions =
      TRY(assets.read("playbooks/prelude.sh")) + TRY(assets.read("playbooks/undo.sh"));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return take_back(assets, functions, options, visit, reporter, io);
  });
}

}  // namespace app
