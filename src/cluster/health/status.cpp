#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/health_state.hpp"
#include "gpuadm/report/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cluster {

namespace {

using base::Tree;

std::string status_of(std::span<const HealthCondition> conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &HealthCondition::type);
  return found == conditions.end() ? "-" : base::printable(found->status, 20);
}

/// How long a condition had not been True at the host's last run, by its clock: of the oldest; "-" if all are
/// True.
std::string unhealthy_for(const HealthOnHost& on, std::span<const HealthCondition> conditions) {
  bool any = false;
  std::string since;
  for (const HealthCondition& one : conditions) {
    if (one.status == "True") continue;
    any = true;
    if (!one.since.empty() && (since.empty() || one.since < since)) since = one.since;
  }
  if (!any) return "-";
  const auto from = base::parse_time(since),
             to = on.state ? base::parse_time(on.state->last.at) : std::nullopt;
  return from && to && *to >= *from ? base::human_seconds(*to - *from) : "unknown";
}

std::string last_run(const HealthOnHost& on) {
  if (!on.reached) return "unreachable";
  if (on.timer != "active" && !on.state) return "not enabled";
  if (!on.state || on.state->last.at.empty()) return "none yet";
  return base::printable(on.state->last.at, 40);
}

/// What is wrong with the checks of a node themselves.
std::string trouble_of(const HealthRow& row) {
  const HealthOnHost& on = row.on;
  if (!on.reached || (on.timer != "active" && !on.state)) return {};
  if (on.timer != "active")
    return fmt::format("the timer is {}: run gpuadm health enable", on.timer.empty() ? "missing" : on.timer);
  if (!on.service.empty() && on.service != "success")
    return fmt::format("the last run failed ({}): {}", on.service,
                       on.message.empty() ? "run journalctl -u gpuadm-health" : on.message);
  if (on.state && !on.state->problem.empty()) return "not sent to the API server: " + on.state->problem;
  return {};
}

std::string taint_of(const HealthRow& row) {
  if (!row.tainted) return "unknown";
  return *row.tainted ? "NoSchedule" : "-";
}

std::span<const HealthCondition> shown(const HealthRow& row) {
  if (row.conditions.empty() && row.on.state) return row.on.state->conditions;
  return row.conditions;
}

}  // namespace

HealthOnHost read_health_status(const std::string& host, std::string_view output) {
  HealthOnHost on;
  on.host = on.node = host;
  for (const std::string_view line : base::lines(output)) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, blank), value = base::trim(line.substr(blank + 1));
    if (key == "timer") on.timer = value;
    if (key == "service") on.service = value;
    if (key == "says") on.message = value;
    if (key != "state") continue;
    const auto tree = base::json::read(value, host + ": state.json");
    if (!tree) continue;
    on.state = state_in(*tree);
    if (!on.state->node.empty()) on.node = on.state->node;
  }
  return on;
}

Verdict health_verdict(std::span<const HealthRow> rows) {
  Verdict verdict;
  for (const HealthRow& row : rows) {
    const HealthOnHost& on = row.on;
    const std::string where = on.node;
    if (!on.reached)
      verdict.unread.push_back({where, "the host is unreachable", {}, {}});
    else if (!on.state)
      verdict.unread.push_back({where, "its health checks: " + last_run(on), "gpuadm health enable", {}});
    else if (const std::string trouble = trouble_of(row); !trouble.empty())
      verdict.unread.push_back({where, trouble, {}, {}});
    for (const HealthCondition& one : shown(row))
      if (one.status == "False")
        verdict.problems.push_back(
            {where, fmt::format("{}: {}", one.type, one.message.empty() ? one.reason : one.message), {}, {}});
      else if (one.status != "True")
        verdict.unread.push_back({where, one.type + " is unknown", {}, {}});
  }
  return verdict;
}

std::string health_table(std::span<const HealthRow> rows, std::size_t width) {
  std::vector<std::vector<std::string>> lines = {
      {"NODE", "LAST RUN", "GPU", "FABRIC", "DRIVER", "UNHEALTHY", "TAINT", "FIRST BROKEN LINK"}};
  std::string troubles;
  for (const HealthRow& row : rows) {
    const auto conditions = shown(row);
    std::vector<std::string> line = {base::printable(row.on.node, 80), last_run(row.on)};
    for (const std::string_view type : health_types) line.push_back(status_of(conditions, type));
    line.push_back(unhealthy_for(row.on, conditions));
    line.push_back(taint_of(row));
    const std::string first = row.on.state ? row.on.state->first : std::string();
    line.push_back(first.empty() ? "-" : base::printable(first, 200));
    lines.push_back(std::move(line));
    if (const std::string trouble = trouble_of(row); !trouble.empty())
      troubles += fmt::format("{}: {}\n", base::printable(row.on.node, 80), base::printable(trouble, 500));
    if (row.on.state)
      for (const std::string& node : row.on.state->limited)
        troubles += fmt::format("{}: unhealthy, and not tainted because of the limit --max-tainted\n",
                                base::printable(node, 80));
  }
  const Verdict verdict = health_verdict(rows);
  return report::columns(std::move(lines), width, {7, 1}) + (troubles.empty() ? "" : "\n" + troubles) +
         fmt::format("\nHealth checks: {}\n",
                     verdict.health() == Health::well ? "all nodes are healthy" : to_text(verdict));
}

Tree to_tree(std::span<const HealthRow> rows) {
  Tree list = Tree::list();
  for (const HealthRow& row : rows) {
    const HealthOnHost& on = row.on;
    Tree tree =
        Tree::map_of({{"host", on.host}, {"node", on.node}, {"reached", on.reached}, {"timer", on.timer}});
    if (!on.service.empty()) tree.set("lastResult", on.service);
    if (on.state) {
      tree.set("lastRun", on.state->last.at);
      tree.set("firstBrokenLink", on.state->first);
      tree.set("gpus", on.state->gpus);
      tree.set("published", on.state->published);
      tree.set("checked", to_tree(on.state->conditions));
    }
    tree.set("conditions", to_tree(row.conditions));
    if (row.tainted) tree.set("tainted", *row.tainted);
    if (const std::string trouble = trouble_of(row); !trouble.empty()) tree.set("problem", trouble);
    list.push(std::move(tree));
  }
  return Tree::map_of({{"nodes", std::move(list)}, {"verdict", to_text(health_verdict(rows))}});
}

}  // namespace cluster
