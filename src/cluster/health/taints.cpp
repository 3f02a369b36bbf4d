#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health.hpp"

#include <algorithm>
#include <set>

namespace cluster {

namespace {

constexpr std::size_t fields = 5;

/// "GPUHealthy=False,GPUFabricHealthy=True,"
void read_conditions(std::string_view text, NodeHealth& node) {
  bool unclear = false, bad = false;
  for (const std::string_view one : base::split(text, ',')) {
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos ||
        std::ranges::find(health_types, one.substr(0, equals)) == health_types.end())
      continue;
    node.watched = true;
    const std::string_view status = one.substr(equals + 1);
    bad = bad || status == "False";
    unclear = unclear || (status != "False" && status != "True");
  }
  if (node.watched && (bad || !unclear)) node.healthy = !bad;
}

bool is_unhealthy(const NodeHealth& node) {
  return node.healthy && !*node.healthy;
}

}  // namespace

std::vector<NodeHealth> read_node_health(std::string_view output) {
  std::vector<NodeHealth> nodes;
  for (const std::string_view line : base::lines(output)) {
    const auto field = base::split(line, '\t');
    if (field.size() != fields || field[0].empty()) continue;
    NodeHealth node{std::string(field[0]),
                    field[1] == "control-plane",
                    field[2] == "True",
                    field[3] == "tainted",
                    false,
                    {}};
    read_conditions(field[4], node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

TaintPlan plan_taints(std::span<const NodeHealth> nodes, const Streaks& before, TaintPolicy policy,
                      int percent) {
  TaintPlan plan;
  std::vector<const NodeHealth*> sorted;
  for (const NodeHealth& node : nodes) sorted.push_back(&node);
  std::ranges::sort(sorted, {}, [](const NodeHealth* node) { return node->name; });

  std::set<std::string> tainted;
  std::size_t watched = 0;
  for (const NodeHealth* node : sorted) {
    if (node->watched) ++watched;
    if (!node->tainted) continue;
    if (policy == TaintPolicy::off || !node->watched)
      plan.remove.push_back(node->name);
    else
      tainted.insert(node->name);
  }
  if (policy == TaintPolicy::off) return plan;

  for (const NodeHealth* node : sorted) {
    if (!node->watched) continue;
    const auto known = before.find(node->name);
    Streak streak = known == before.end() ? Streak() : known->second;
    // An unclear run neither confirms nor refutes: the streaks stay.
    if (node->healthy) {
      streak.bad = *node->healthy ? 0 : std::min(streak.bad + 1, taint_after);
      streak.good = *node->healthy ? std::min(streak.good + 1, untaint_after) : 0;
    }
    if (node->tainted && streak.good >= untaint_after) {
      plan.remove.push_back(node->name);
      tainted.erase(node->name);
    }
    plan.streaks[node->name] = streak;
  }
  const std::size_t most =
      std::max<std::size_t>(1, watched * static_cast<std::size_t>(std::clamp(percent, 0, 100)) / 100);
  for (const NodeHealth* node : sorted) {
    if (node->tainted || !is_unhealthy(*node) || plan.streaks[node->name].bad < taint_after) continue;
    if (tainted.size() < most) {
      plan.add.push_back(node->name);
      tainted.insert(node->name);
    } else {
      plan.limited.push_back(node->name);
    }
  }
  return plan;
}

std::string node_that_sets_taints(std::span<const NodeHealth> nodes) {
  const NodeHealth* first = nullptr;
  for (const NodeHealth& node : nodes)
    if (node.control_plane && node.ready && (!first || node.name < first->name)) first = &node;
  return first ? first->name : "";
}

}  // namespace cluster
