#include "app/take_down.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace app {

namespace {

/// The machine ids of the hosts: a cluster knows its nodes by them.
Result<std::string> machines(const spec::Cluster& cluster, transport::Fleet& fleet) {
  for (const spec::Host& host : cluster.hosts)
    fleet.submit(host.name, {.label = "read the machine id", .script = "cat /etc/machine-id\n"});
  std::string ids;
  while (auto completion = fleet.next()) {
    if (!completion->result) return std::unexpected(completion->result.error());
    ids += std::string(base::trim(completion->result->out)) + "\n";
  }
  if (fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while the machine ids were read");
  return ids;
}

}  // namespace

Result<plan::Plan> reset_steps(spec::Cluster cluster, const assets::Store& assets, transport::Fleet& fleet) {
  cluster.kubernetes = {};  // whatever version it is
  const playbook::Library library = TRY(playbook::Library::load(assets, "reset"));
  facts::Census census;
  for (const spec::Host& host : cluster.hosts) census.emplace(host.name, facts::Facts{});
  const plan::Choice choice{{}, {}, {}, {{"leaving_machines", TRY(machines(cluster, fleet))}}};
  plan::Plan steps = TRY(plan::make(cluster, census, library, nullptr, choice));
  steps.prelude += TRY(assets.read("playbooks/undo.sh"));
  steps.vital.clear();
  return steps;
}

Result<TakeDown> TakeDown::of(spec::Cluster cluster, Spared spared, const assets::Store& assets,
                              transport::Fleet& fleet) {
  TakeDown down(std::move(cluster), spared, fleet);
  down.steps_ = TRY(reset_steps(down.cluster_, assets, fleet));
  return down;
}

Result<plan::Plan> TakeDown::plan(const std::set<std::string>& lost) {
  std::vector<std::string> asked = hosts();
  std::erase_if(asked, [&](const std::string& host) { return lost.contains(host); });
  const Journals journals = TRY(read_journals(*fleet_, asked, steps_.prelude));
  nodes_.clear();
  for (const auto& [host, journal] : journals) {
    if (plan::has_cluster(journal)) nodes_.push_back(host);
    const auto may = plan::may_reset(journal, spared_.force);
    if (!may)
      return base::fail(may.error().fault, fmt::format("{}: {}", host, may.error().what), may.error().hint);
  }
  plan::Undo undo{.all = true, .force = spared_.force, .after_reset = true};
  if (spared_.images) undo.keep = {"image", "docker-image"};
  if (spared_.driver) undo.keep.emplace_back("gpu.driver");
  for (auto& [host, way] : TRY(ways_back(journals, undo))) ways_.insert_or_assign(host, std::move(way));
  plan::Plan plan = steps_;
  for (plan::Stage& stage : plan::to_plan(ways_, "").stages) plan.stages.push_back(std::move(stage));
  return plan;
}

std::vector<std::string> TakeDown::hosts() const {
  std::vector<std::string> names;
  for (const spec::Host& host : cluster_.hosts) names.push_back(host.name);
  return names;
}

}  // namespace app
