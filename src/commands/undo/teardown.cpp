#include "commands/undo/teardown.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace commands {

namespace {

bool is_machine_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdefABCDEF-") == std::string_view::npos;
}

/// "MACHINE-ID NAME ADDRESS" of each host. A host's answer must be one id: more lines would be other hosts.
Result<std::string> machines(const spec::Cluster& cluster, transport::Fleet& fleet,
                             const assets::Store& assets) {
  const transport::Command command = TRY(
      session::command_of({.label = "read the machine id", .asset = "playbooks/read/machine-id.sh"}, assets));
  for (const spec::Host& host : cluster.hosts) fleet.submit(host.name, command);
  std::string lines;
  std::map<std::string, base::Error> errors;
  while (auto completion = fleet.next()) {
    if (!completion->result) {
      errors.emplace(completion->host, completion->result.error());
      continue;
    }
    const auto host = std::ranges::find(cluster.hosts, completion->host, &spec::Host::name);
    const std::string_view id = base::trim(completion->result->out);
    if (host == cluster.hosts.end() || !is_machine_id(id)) continue;
    lines += fmt::format("{} {} {}\n", id, base::lower(host->name), host->endpoint.address);
  }
  if (fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while reading machine ids");
  if (!errors.empty()) return std::unexpected(base::joined(errors));
  return lines;
}

}  // namespace

Result<plan::Plan> reset_steps(spec::Cluster cluster, Spared spared, const assets::Store& assets,
                               transport::Fleet& fleet) {
  cluster.kubernetes = {};  // any version
  const playbook::Library library = TRY(playbook::Library::load(assets, "reset"));
  facts::Census census;
  for (const spec::Host& host : cluster.hosts) census.emplace(host.name, facts::Facts{});
  const std::string leaving = TRY(machines(cluster, fleet, assets));
  const plan::Choice choice{{},
                            {},
                            {},
                            {{"leaving_machines", leaving},
                             {"leave_unread", spared.left    ? "left"
                                              : spared.force ? "say"
                                                             : "refuse"}}};
  plan::Plan steps = TRY(plan::make(cluster, {}, census, library, nullptr, choice));
  steps.prelude += TRY(assets.read("playbooks/undo.sh"));
  steps.vital.clear();
  return steps;
}

Result<Teardown> Teardown::of(spec::Cluster cluster, Spared spared, const assets::Store& assets,
                              transport::Fleet& fleet) {
  Teardown down(std::move(cluster), spared, fleet);
  down.steps_ = TRY(reset_steps(down.cluster_, spared, assets, fleet));
  return down;
}

Result<plan::Plan> Teardown::plan(const std::set<std::string>& lost) {
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
  for (auto& [host, way] : TRY(make_undo_plans(journals, undo)))
    undo_plans_.insert_or_assign(host, std::move(way));
  plan::Plan plan = steps_;
  for (plan::Stage& stage : plan::to_plan(undo_plans_, "").stages) plan.stages.push_back(std::move(stage));
  return plan;
}

std::vector<std::string> Teardown::hosts() const {
  std::vector<std::string> names;
  for (const spec::Host& host : cluster_.hosts) names.push_back(host.name);
  return names;
}

}  // namespace commands
