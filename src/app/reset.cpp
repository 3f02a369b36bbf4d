#include "gpuadm/base/text.hpp"

#include "app/conduct.hpp"
#include "app/connections.hpp"
#include "app/way_back.hpp"

#include <fmt/format.h>

namespace app {

namespace {

plan::Undo undo_of(const ResetOptions& options) {
  plan::Undo undo{.all = true, .force = options.force, .after_reset = true};
  if (options.keep_images) undo.keep = {"image", "docker-image"};
  if (options.keep_driver) undo.keep.emplace_back("gpu.driver");
  return undo;
}

/// What a node is taken apart with, and what it was given back by: everything that is needed to plan both.
class Way {
 public:
  Way(const ResetOptions& options, const assets::Store& assets, const spec::Cluster& cluster,
      transport::Fleet& fleet)
      : options_(options), assets_(assets), cluster_(cluster), fleet_(fleet) {}

  /// The steps of playbooks/reset.yaml. They look for themselves what is there: a reset needs no facts, which
  /// a broken host might not give.
  Result<> prepare() {
    const playbook::Library library = TRY(playbook::Library::load(assets_, "reset"));
    facts::Census census;
    for (const spec::Host& host : cluster_.hosts) census.emplace(host.name, facts::Facts{});
    spec::Cluster cluster = cluster_;
    cluster.kubernetes = {};  // whatever version it is
    steps_ = TRY(plan::make(cluster, census, library, nullptr, {}));
    steps_.prelude += TRY(assets_.read("playbooks/undo.sh"));
    return {};
  }

  /// The steps, then what the journals say of now.
  Result<plan::Plan> plan() {
    const Journals journals = TRY(read_journals(fleet_, steps_.prelude));
    for (const auto& [host, journal] : journals) {
      const auto may = plan::may_reset(journal, options_.force);
      if (!may)
        return base::fail(may.error().fault, fmt::format("{}: {}", host, may.error().what), may.error().hint);
    }
    ways_ = TRY(ways_back(journals, undo_of(options_)));
    plan::Plan plan = steps_;
    for (plan::Stage& stage : plan::to_plan(ways_, "").stages) plan.stages.push_back(std::move(stage));
    return plan;
  }

  [[nodiscard]] const Ways& ways() const { return ways_; }
  [[nodiscard]] std::vector<std::string> hosts() const {
    std::vector<std::string> names;
    for (const auto& [host, way] : ways_) names.push_back(host);
    return names;
  }

 private:
  const ResetOptions& options_;
  const assets::Store& assets_;
  const spec::Cluster& cluster_;
  transport::Fleet& fleet_;
  plan::Plan steps_;
  Ways ways_;
};

Result<Outcome> take_down(Way& way, const assets::Store& assets, const ResetOptions& options,
                          transport::Fleet& fleet, report::Reporter& reporter, const RunFolder& folder,
                          Io& io) {
  Performance performance{assets, TRY(way.plan()), way.hosts(), options.consent,
                          [&way] { return way.plan(); }};
  tell_kept(reporter, way.ways());
  if (options.consent != Consent::preview)
    tell(reporter, report::Did::note, "",
         fmt::format("the cluster on {} goes, with its pods and what etcd holds",
                     base::join(performance.hosts, ", ")));
  const Outcome outcome = TRY(perform(performance, fleet, reporter, folder, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return tell_kept(reporter, way.ways()) ? Outcome::failed : outcome;
}

}  // namespace

Result<Outcome> reset(const ResetOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const RunFolder folder = TRY(RunFolder::make(cluster.name));
  TRY(folder.save("cluster.yaml", spec::to_tree(cluster)));
  const auto connections = TRY(Connections::open(cluster, options.common.connection, io));
  const auto fleet =
      connections->fleet(options.consent == Consent::preview ? Access::read_only : Access::full);

  Way way(options, assets, cluster, *fleet);
  TRY(way.prepare());
  const auto telling = TRY(Telling::open(folder, options.format, io));
  const Result<Outcome> outcome = take_down(way, assets, options, *fleet, telling->reporter(), folder, io);
  TRY(telling->close(folder, options.format, io));
  return outcome;
}

}  // namespace app
