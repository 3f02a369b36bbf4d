#include "gpuadm/base/text.hpp"

#include "app/conduct.hpp"
#include "app/take_down.hpp"
#include "app/way_back.hpp"

#include <fmt/format.h>

#include <optional>

namespace app {

namespace {

/// The journals of the hosts made into a plan, again and again.
class TakeBack {
 public:
  TakeBack(const spec::Cluster& cluster, const assets::Store& assets, std::string functions, plan::Undo undo,
           transport::Fleet& fleet)
      : cluster_(cluster),
        assets_(assets),
        functions_(std::move(functions)),
        undo_(std::move(undo)),
        fleet_(fleet) {}

  /// Where an init or a join did not finish: the steps of reset, first.
  Result<plan::Plan> plan() {
    const Journals journals = TRY(read_journals(fleet_, fleet_.hosts(), functions_));
    ways = TRY(ways_back(journals, undo_));
    if (!steps_) steps_ = TRY(first_steps(journals));
    plan::Plan plan = *steps_;
    for (plan::Stage& stage : plan::to_plan(ways, "").stages) plan.stages.push_back(std::move(stage));
    return plan;
  }

  Ways ways;
  std::vector<std::string> unfinished;  ///< hosts whose cluster is taken back

 private:
  Result<plan::Plan> first_steps(const Journals& journals) {
    spec::Cluster cluster = cluster_;
    std::erase_if(cluster.hosts, [&](const spec::Host& host) {
      const auto journal = journals.find(host.name);
      return journal == journals.end() || !takes_cluster_back(journal->second, undo_);
    });
    for (const spec::Host& host : cluster.hosts) unfinished.push_back(host.name);
    if (unfinished.empty()) return plan::to_plan({}, functions_);
    return reset_steps(std::move(cluster), assets_, fleet_);
  }

  const spec::Cluster& cluster_;
  const assets::Store& assets_;
  std::string functions_;
  plan::Undo undo_;
  transport::Fleet& fleet_;
  std::optional<plan::Plan> steps_;
};

Result<Outcome> take_back(TakeBack& back, const assets::Store& assets, const UndoOptions& options,
                          const Visit& visit, report::Reporter& reporter, Io& io) {
  Performance performance{assets, TRY(back.plan()), {}, options.consent, {}};
  performance.again = [&](const std::set<std::string>&) { return back.plan(); };
  for (const auto& [host, way] : back.ways)
    if (!way.stages.empty()) performance.hosts.push_back(host);
  const bool kept = tell_kept(reporter, back.ways);
  if (performance.hosts.empty()) {
    tell(reporter, report::Did::finished, "", kept ? "nothing was changed" : "there is nothing to undo");
    return kept ? Outcome::failed : Outcome::done;
  }
  if (!back.unfinished.empty())
    tell(reporter, report::Did::note, "",
         fmt::format("kubeadm did not finish on {}: what it started is stopped and removed, too",
                     base::join(back.unfinished, ", ")));
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || !kept || options.consent == Consent::preview) return outcome;
  tell_kept(reporter, back.ways);
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
  TakeBack back(cluster, assets, functions, {.run = options.run, .all = options.all, .force = options.force},
                *visit.fleet);
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return take_back(back, assets, options, visit, reporter, io);
  });
}

}  // namespace app
