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
    clusters_.clear();
    for (const auto& [host, journal] : journals) {
      if (plan::has_cluster(journal)) clusters_.push_back(host);
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
  [[nodiscard]] const std::vector<std::string>& clusters() const { return clusters_; }
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
  std::vector<std::string> clusters_;  ///< hosts that are nodes
};

Result<Outcome> take_down(Way& way, const assets::Store& assets, const ResetOptions& options,
                          const Visit& visit, report::Reporter& reporter, Io& io) {
  Performance performance{assets, TRY(way.plan()), way.hosts(), options.consent,
                          [&way](const auto&) { return way.plan(); }};
  tell_kept(reporter, way.ways());
  if (const auto clusters = way.clusters(); !clusters.empty())
    tell(
        reporter, report::Did::note, "",
        fmt::format("the cluster on {} goes, with its pods and what etcd holds", base::join(clusters, ", ")));
  const Outcome outcome = TRY(perform(performance, visit, reporter, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return tell_kept(reporter, way.ways()) ? Outcome::failed : outcome;
}

}  // namespace

Result<Outcome> reset(const ResetOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(read_cluster(options.hosts, options.common.connection));
  const Visit visit = TRY(Visit::open(cluster, options.common.connection, options.consent, io));
  Way way(options, assets, cluster, *visit.fleet);
  TRY(way.prepare());
  return telling(visit.folder, options.format, io, [&](report::Reporter& reporter) {
    return take_down(way, assets, options, visit, reporter, io);
  });
}

}  // namespace app
