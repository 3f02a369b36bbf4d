#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health.hpp"

#include <algorithm>
#include <set>

namespace cluster {

namespace {

constexpr std::size_t fields = 5;

/// "GPUHealthy=False=2026-11-26T12:00:00Z,GPUFabricHealthy=True=2026-11-26T12:00:00Z,"
void read_conditions(std::string_view text, NodeHealth& node) {
  bool unclear = false, bad = false;
  for (const std::string_view one : base::split(text, ',')) {
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos ||
        std::ranges::find(health_types, one.substr(0, equals)) == health_types.end())
      continue;
    node.watched = true;
    std::string_view status = one.substr(equals + 1);
    if (const std::size_t end = status.find('='); end != std::string_view::npos) {
      node.heartbeat = std::max(node.heartbeat, std::string(status.substr(end + 1)));
      status = status.substr(0, end);
    }
    bad = bad || status == "False";
    unclear = unclear || (status != "False" && status != "True");
  }
  if (node.watched && (bad || !unclear)) node.healthy = !bad;
}

/// Counts a run that was not read yet. Its conditions are too old if no other one has followed for long.
Streak next_streak(Streak streak, const NodeHealth& node, const TaintRules& rules, bool& is_old) {
  const bool is_new = streak.since == 0 || streak.heartbeat != node.heartbeat;
  is_old = !is_new && rules.now - streak.since > 3 * std::max(heartbeat_seconds, rules.interval);
  if (!is_new) return streak;
  streak.heartbeat = node.heartbeat;
  streak.since = rules.now;
  // An unclear run neither confirms nor refutes.
  if (!node.healthy) return streak;
  streak.bad = *node.healthy ? 0 : std::min(streak.bad + 1, taint_after);
  streak.good = *node.healthy ? std::min(streak.good + 1, untaint_after) : 0;
  return streak;
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
                    {},
                    {}};
    read_conditions(field[4], node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

TaintPlan plan_taints(std::span<const NodeHealth> nodes, const Streaks& before, const TaintRules& rules) {
  TaintPlan plan;
  std::vector<const NodeHealth*> sorted;
  for (const NodeHealth& node : nodes) sorted.push_back(&node);
  std::ranges::sort(sorted, {}, [](const NodeHealth* node) { return node->name; });

  std::set<std::string> tainted;
  std::size_t watched = 0;
  for (const NodeHealth* node : sorted) {
    if (node->watched) ++watched;
    if (!node->tainted) continue;
    if (rules.policy == TaintPolicy::off || !node->watched)
      plan.remove.push_back(node->name);
    else
      tainted.insert(node->name);
  }
  if (rules.policy == TaintPolicy::off) return plan;

  std::vector<std::string> unhealthy;
  for (const NodeHealth* node : sorted) {
    if (!node->watched) continue;
    const auto known = before.find(node->name);
    bool is_old = false;
    const Streak streak = next_streak(known == before.end() ? Streak() : known->second, *node, rules, is_old);
    if (node->tainted && streak.good >= untaint_after && !is_old) {
      plan.remove.push_back(node->name);
      tainted.erase(node->name);
    }
    if (!node->tainted && node->healthy == false && streak.bad >= taint_after && !is_old)
      unhealthy.push_back(node->name);
    plan.streaks[node->name] = streak;
  }
  const std::size_t most =
      std::max<std::size_t>(1, watched * static_cast<std::size_t>(std::clamp(rules.percent, 0, 100)) / 100);
  for (std::string& node : unhealthy) {
    if (tainted.size() < most) {
      plan.add.push_back(node);
      tainted.insert(std::move(node));
    } else {
      plan.limited.push_back(std::move(node));
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
