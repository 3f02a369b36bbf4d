#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/health_state.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace {

using cluster::HealthCondition;
using cluster::HealthState;
using cluster::NodeHealth;
using cluster::TaintPolicy;
using report::Finding;
using report::Severity;
using report::Verdict;

Finding failed_check(const char* id, Severity severity, const char* caused_by = "") {
  return {.id = id,
          .severity = severity,
          .verdict = Verdict::fail,
          .host = "gpu1",
          .message = std::string("it is broken: ") + id,
          .evidence = "",
          .remedy = "",
          .caused_by = caused_by};
}

std::string statuses_in(const cluster::HealthReport& report) {
  std::string text;
  for (const HealthCondition& one : report.conditions) text += one.status + " ";
  return text;
}

NodeHealth node_seen(const char* name, bool healthy, bool tainted = false) {
  return {name, false, true, tainted, true, healthy, ""};
}

/// Every node has run since the last plan.
cluster::TaintPlan planned(std::vector<NodeHealth>& nodes, const cluster::Streaks& before, TaintPolicy policy,
                           int percent) {
  static int run = 0;
  ++run;
  for (NodeHealth& node : nodes) node.heartbeat = fmt::format("run {}", run);
  return cluster::plan_taints(nodes, before, {policy, percent, 1000.0 + 30 * run, 30});
}

}  // namespace

TEST_CASE("a node without GPUs has no conditions, and its first broken link") {
  const auto report = cluster::judge_health(std::vector{failed_check("kubelet.running", Severity::blocker)},
                                            0, 0, TaintPolicy::blocker);
  CHECK(report.conditions.empty());
  CHECK(report.first == "it is broken: kubelet.running (kubelet.running)");
}

TEST_CASE("a condition is not well because nothing was checked") {
  const auto checked = [](const char* id, Verdict verdict, Severity severity) {
    Finding finding = failed_check(id, severity);
    finding.verdict = verdict;
    return finding;
  };
  const std::vector<Finding> findings = {checked("gpu.health.temperature", Verdict::pass, Severity::warning),
                                         checked("gpu.health.ecc", Verdict::unknown, Severity::warning),
                                         checked("gpu.fabric.state", Verdict::skip, Severity::blocker)};
  const auto report = cluster::judge_health(findings, 8, 8, TaintPolicy::blocker);
  CHECK(statuses_in(report) == "True True Unknown ");
  CHECK(report.conditions[0].message == "1 unknown: run gpuadm doctor");
  CHECK(report.conditions[1].reason == "NotApplicable");
  CHECK(report.conditions[2].reason == "NotChecked");
  CHECK(statuses_in(cluster::judge_health(findings, 8, 8, TaintPolicy::warning)) == "Unknown True Unknown ");
}

TEST_CASE("a finding makes the condition of its part False, with its cause as message") {
  const std::vector<Finding> findings = {
      failed_check("gpu.driver.module-loaded", Severity::blocker),
      failed_check("gpu.fabric.state", Severity::blocker, "gpu.driver.module-loaded"),
      failed_check("gpu.health.temperature", Severity::warning)};
  const auto report = cluster::judge_health(findings, 8, 8, TaintPolicy::blocker);
  CHECK(statuses_in(report) == "True False False ");
  CHECK(report.conditions[0].message == "1 warning: run gpuadm doctor");
  CHECK(report.conditions[1].message.contains("gpu.driver.module-loaded"));
  CHECK(report.first.contains("gpu.driver.module-loaded"));
  CHECK(statuses_in(cluster::judge_health(findings, 8, 8, TaintPolicy::warning)) == "False False False ");
}

TEST_CASE("a check that could not be run makes its condition Unknown, not True") {
  Finding timed_out = failed_check("gpu.driver.smi-runs", Severity::blocker);
  timed_out.verdict = Verdict::timeout;
  const auto report = cluster::judge_health(std::vector{timed_out}, 1, 1, TaintPolicy::off);
  CHECK(statuses_in(report) == "Unknown Unknown Unknown ");
  CHECK(report.conditions[1].reason == "NotChecked");
  CHECK(report.conditions[2].reason == "CheckIncomplete");
}

TEST_CASE("GPUs that an earlier run saw are missing") {
  const auto report = cluster::judge_health({}, 7, 8, TaintPolicy::off);
  CHECK(statuses_in(report) == "False Unknown Unknown ");
  CHECK(report.conditions[0].reason == "GPUMissing");
  CHECK(report.conditions[0].message == "1 of 8 GPUs are missing");
}

TEST_CASE("a hung nvidia-smi is the driver's fault, and says nothing about the GPUs") {
  const auto report = cluster::unchecked_health("NvidiaSmiHangs", "it hangs", true, 8);
  CHECK(statuses_in(report) == "Unknown Unknown False ");
  CHECK(cluster::unchecked_health("NvidiaSmiHangs", "it hangs", true, 0).conditions.empty());
}

TEST_CASE("a status keeps its time while only its message changes") {
  const std::vector<HealthCondition> before = {{"GPUHealthy", "False", "CheckFailed", "90 C", "then"}};
  std::vector<HealthCondition> now = {{"GPUHealthy", "False", "CheckFailed", "91 C", ""},
                                      {"GPUDriverHealthy", "True", "ChecksPassed", "", ""}};
  const auto changed = cluster::carry_over(before, now, "now");
  CHECK(changed.size() == 2);
  CHECK(now[0].since == "then");
  CHECK(now[1].since == "now");
}

TEST_CASE("conditions are added to those of the kubelet in a Node object, and removed from it") {
  auto node = base::json::read(R"({"metadata": {"name": "gpu1"}, "status": {"conditions": [
    {"type": "Ready", "status": "True"}, {"type": "GPUHealthy", "status": "True"}]}})",
                               "node")
                  .value();
  const std::vector<HealthCondition> ours = {{"GPUHealthy", "False", "CheckFailed", "Xid 79", "then"}};
  CHECK(cluster::set_conditions(node, ours, "now"));
  const auto& list = node.at({"status", "conditions"})->items();
  CHECK(list.size() == 2);
  CHECK(base::text_of(list[1], "lastTransitionTime") == "then");
  CHECK(base::text_of(list[1], "lastHeartbeatTime") == "now");
  CHECK(cluster::conditions_of_node(node).front().message == "Xid 79");
  CHECK(cluster::set_conditions(node, {}, "now"));
  CHECK(node.at({"status", "conditions"})->items().size() == 1);
  CHECK_FALSE(cluster::set_conditions(node, {}, "now"));
}

TEST_CASE("lines of nodes are read, and forged ones are ignored") {
  const auto nodes = cluster::read_node_health(
      "one\tcontrol-plane\tTrue\ttainted\tGPUHealthy=False=2026-11-26T12:00:00Z,GPUDriverHealthy=True=2026-"
      "11-"
      "26T12:00:00Z,\n"
      "two\t\tTrue\t\tGPUHealthy=Unknown,\nthree\t\tFalse\t\t\nfour\n");
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].control_plane);
  CHECK(nodes[0].tainted);
  CHECK(nodes[0].healthy == false);
  CHECK(nodes[0].heartbeat == "2026-11-26T12:00:00Z");
  CHECK(nodes[1].watched);
  CHECK_FALSE(nodes[1].healthy.has_value());
  CHECK_FALSE(nodes[2].watched);
}

TEST_CASE("a node is tainted after two unhealthy runs, and untainted after three healthy ones") {
  cluster::Streaks streaks;
  std::vector<NodeHealth> nodes = {node_seen("one", false), node_seen("two", true)};
  auto plan = planned(nodes, streaks, TaintPolicy::blocker, 50);
  CHECK(plan.add.empty());
  plan = planned(nodes, plan.streaks, TaintPolicy::blocker, 50);
  CHECK(plan.add == std::vector<std::string>{"one"});
  nodes[0] = node_seen("one", true, true);
  for (int run = 0; run < 2; ++run) {
    plan = planned(nodes, plan.streaks, TaintPolicy::blocker, 50);
    CHECK(plan.remove.empty());
  }
  // A fault in between starts the count again.
  nodes[0].healthy = false;
  plan = planned(nodes, plan.streaks, TaintPolicy::blocker, 50);
  nodes[0].healthy = true;
  for (int run = 0; run < 3; ++run) plan = planned(nodes, plan.streaks, TaintPolicy::blocker, 50);
  CHECK(plan.remove == std::vector<std::string>{"one"});
}

TEST_CASE("a run that is read twice counts once") {
  std::vector<NodeHealth> nodes = {node_seen("one", false), node_seen("two", true, true)};
  nodes[0].heartbeat = nodes[1].heartbeat = "first";
  cluster::TaintRules rules{TaintPolicy::blocker, 100, 1000, 30};
  cluster::TaintPlan plan;
  for (int reading = 0; reading < 4; ++reading, rules.now += 30) {
    plan = cluster::plan_taints(nodes, plan.streaks, rules);
    CHECK(plan.add.empty());
    CHECK(plan.remove.empty());
  }
  nodes[0].heartbeat = "second";
  CHECK(cluster::plan_taints(nodes, plan.streaks, rules).add == std::vector<std::string>{"one"});
}

TEST_CASE("conditions that no run has sent for long are unknown, neither healthy nor unhealthy") {
  std::vector<NodeHealth> nodes = {node_seen("one", false), node_seen("two", true, true)};
  nodes[0].heartbeat = nodes[1].heartbeat = "last";
  const cluster::Streaks before = {{"one", {2, 0, "last", 1000}}, {"two", {0, 3, "last", 1000}}};
  const auto at = [&](double now, double interval) {
    return cluster::plan_taints(nodes, before, {TaintPolicy::blocker, 100, now, interval});
  };
  CHECK(at(1300, 30).add.size() == 1);
  CHECK(at(1300, 30).remove.size() == 1);
  CHECK(at(1901, 30).add.empty());
  CHECK(at(1901, 30).remove.empty());
  // Nodes that run less often send less often.
  CHECK(at(1901, 3600).add.size() == 1);
}

TEST_CASE("no more than the stated share of nodes is tainted, and the others are named") {
  std::vector<NodeHealth> nodes;
  cluster::Streaks streaks;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    nodes.push_back(node_seen(name, false));
    streaks[name] = {1, 0, "", 0};
  }
  auto plan = planned(nodes, streaks, TaintPolicy::blocker, 25);
  CHECK(plan.add == std::vector<std::string>{"a", "b"});
  CHECK(plan.limited.size() == 6);
  // One node may always be tainted.
  nodes.resize(1);
  CHECK(planned(nodes, streaks, TaintPolicy::blocker, 1).add.size() == 1);
}

TEST_CASE("with the policy off, and for nodes without conditions, taints are removed") {
  std::vector<NodeHealth> nodes = {node_seen("one", false, true)};
  CHECK(planned(nodes, {}, TaintPolicy::off, 25).remove.size() == 1);
  nodes[0].watched = false;
  nodes[0].healthy.reset();
  CHECK(planned(nodes, {}, TaintPolicy::blocker, 25).remove.size() == 1);
}

TEST_CASE("the first Ready control-plane node sets the taints") {
  std::vector<NodeHealth> nodes = {
      {"b", true, true}, {"a", true, false}, {"c", true, true}, {"0", false, true}};
  CHECK(cluster::node_that_sets_taints(nodes) == "b");
}

TEST_CASE("the state survives its file, and a damaged one is a new one") {
  HealthState state;
  state.node = "gpu1";
  state.last = {"2026-01-01T00:00:00Z", 1767225600.5, 100.25, "boot"};
  state.conditions = {{"GPUHealthy", "False", "CheckFailed", "Xid 79", "then"}};
  state.gpus = 8;
  state.published = true;
  state.streaks["gpu1"] = {1, 0, "2026-01-01T00:00:00Z", 1767225600};
  cluster::enqueue(state, {"event", true, "GPUHealthyNot", "Xid 79", "now"});
  const auto tree = base::json::read(base::json::write(cluster::to_tree(state)), "state.json").value();
  const HealthState read = cluster::state_in(tree);
  CHECK(cluster::to_tree(read) == cluster::to_tree(state));
  CHECK(cluster::state_in(base::Tree("junk")).last.at.empty());
}

TEST_CASE("events that cannot be sent are bounded, and the dropped ones counted") {
  HealthState state;
  for (std::size_t i = 0; i < cluster::most_events + 3; ++i)
    cluster::enqueue(state, {std::to_string(i), true, "", "", ""});
  CHECK(state.events.size() == cluster::most_events);
  CHECK(state.events.front().name == "3");
  CHECK(state.dropped == 3);
}

TEST_CASE("the uptime decides when conditions are sent again, not a clock that is set") {
  HealthState state;
  cluster::Moment now{"", 1000, 1000, "boot"};
  CHECK(cluster::must_publish(state, now));
  state.published = true;
  state.sent = now;
  now.epoch += 100000;
  // Taints follow from several runs.
  CHECK(cluster::must_publish(state, now));
  state.repeated = cluster::send_repeated;
  CHECK_FALSE(cluster::must_publish(state, now));
  now.uptime += 300;
  CHECK(cluster::must_publish(state, now));
  now.uptime = 1001;
  now.boot_id = "next";
  CHECK(cluster::must_publish(state, now));
}

TEST_CASE("a clock that is set is measured against the uptime") {
  const cluster::Moment before{"", 1000, 100, "boot"};
  CHECK_FALSE(cluster::clock_step(before, {"", 1030, 130, "boot"}).has_value());
  CHECK(cluster::clock_step(before, {"", 1030 + 3600, 130, "boot"}) == 3600);
  CHECK(cluster::clock_step(before, {"", 1030 - 7200, 130, "boot"}) == -7200);
  CHECK_FALSE(cluster::clock_step(before, {"", 9000, 10, "next"}).has_value());
}

TEST_CASE("the history is read back, without its damaged lines") {
  cluster::HealthState state;
  state.conditions = {{"GPUHealthy", "False", "", "", ""}};
  state.first = "Xid 79";
  state.gpu_states = {{"GPU-a", "ok"}, {"GPU-b", "broken"}};
  state.last.at = "2026-01-01T00:05:00Z";
  const std::string line = cluster::history_line({"2026-01-01T00:00:00Z", 0, 5, ""}, state, "tainted gpu1");
  const auto history = cluster::read_history(
      "gpu1", line + "{\"at\": \"cut\n" + line + "\nstate " + base::json::write(cluster::to_tree(state), 0));
  REQUIRE(history.entries.size() == 2);
  CHECK(history.entries[1].gpus == state.gpu_states);
  CHECK(history.last == "2026-01-01T00:05:00Z");
  CHECK(cluster::state_in(cluster::to_tree(state)).gpu_states == state.gpu_states);
  CHECK(history.damaged == 1);
  const std::string table = cluster::history_table(history.entries, 0);
  CHECK(table.contains("2026-01-01T00:00:00Z"));
  CHECK(table.contains("Xid 79; tainted gpu1"));
}

TEST_CASE("the status of a host names what is wrong with the checks themselves") {
  const auto failed =
      cluster::read_health_status("gpu1", "timer active\nservice timeout\nsays it took too long\n");
  const std::vector<cluster::HealthRow> rows = {
      {failed, {}, false},
      {cluster::read_health_status("gpu2", "timer inactive\nservice \nsays \n"), {}, {}},
      {cluster::read_health_status(
           "gpu3",
           "timer active\nservice success\nsays \nstate {\"conditions\": [], \"last\": {\"at\": "
           "\"2026-11-27T02:15:30Z\"}}\n"),
       {{"GPUHealthy", "False", "CheckFailed", "Xid 79", "2026-11-27T00:10:00Z"},
        {"GPUDriverHealthy", "Unknown", "NotRead", "", "2026-11-27T00:05:00Z"},
        {"GPUFabricHealthy", "True", "", "", "2026-11-20T00:00:00Z"}},
       true}};
  const std::string table = cluster::health_table(rows, 0);
  CHECK(table.contains("gpu1: the last run failed (timeout): it took too long"));
  CHECK(table.contains("not enabled"));
  CHECK(table.contains("2h 10m"));
}

TEST_CASE("the timeline has a bar for each condition and GPU, and gaps where nothing is known") {
  const auto entry = [](const char* host, const char* at, const char* status, cluster::GpuStates gpus,
                        const char* first) {
    cluster::HistoryEntry one{.host = host, .at = at, .gpus = std::move(gpus), .first = first};
    one.conditions = {{"GPUHealthy", status, "", "", ""}};
    return one;
  };
  const std::vector<cluster::HistoryEntry> entries = {
      entry("gpu1", "2026-11-27T00:00:00Z", "True", {{"GPU-a", "ok"}, {"GPU-b", "ok"}}, ""),
      entry("gpu1", "2026-11-27T00:10:00Z", "False", {{"GPU-a", "ok"}, {"GPU-b", "broken"}}, "<b>Xid 79</b>"),
      entry("gpu1", "2026-11-27T00:20:00Z", "Unknown", {}, "nvidia-smi hangs"),
      entry("gpu1", "2026-11-27T00:30:00Z", "True", {{"GPU-a", "ok"}, {"GPU-b", "quarantined"}}, ""),
      entry("gpu2", "not a time", "True", {}, "")};
  const auto page = cluster::health_timeline(entries, {{"gpu1", "2026-11-27T01:00:00Z"}, {"gpu2", ""}});
  CHECK(page.to - page.from == 3600);
  REQUIRE(page.hosts.size() == 2);
  const auto& bars = page.hosts[0].bars;
  REQUIRE(bars.size() == 5);
  REQUIRE(bars[0].spans.size() == 3);
  CHECK(bars[0].spans[1].condition == report::Condition::bad);
  CHECK(bars[0].spans[1].to - bars[0].spans[1].from == 600);
  CHECK(bars[0].spans[2].from - bars[0].spans[1].to == 600);
  CHECK(bars[1].spans.empty());
  REQUIRE(bars[3].spans.size() == 2);
  CHECK(bars[3].spans[0].to - bars[3].spans[0].from == 1200);
  REQUIRE(bars[4].spans.size() == 3);
  CHECK(bars[4].spans[2].condition == report::Condition::excluded);
  CHECK(page.hosts[1].bars.empty());
  const std::string html = report::to_html(page);
  CHECK(html.contains("&lt;b&gt;Xid 79&lt;/b&gt;"));
  CHECK_FALSE(html.contains("<b>Xid"));
  CHECK_FALSE(html.contains("<script"));
  CHECK(html.contains("aria-label=\"GPU-b: in quarantine 30m 0s, broken 10m 0s, no finding 10m 0s of 1h 0m"));
  CHECK(report::to_html(cluster::health_timeline({}, {})).contains("Health of 0 hosts"));
}

TEST_CASE("nodes that do not check themselves or cannot be reached do not count as healthy") {
  std::vector<cluster::HealthRow> rows(2);
  rows[0].on.node = "gpu1";
  rows[0].on.reached = true;
  rows[0].on.timer = "active";
  rows[0].on.state.emplace();
  rows[0].on.state->conditions = {{"GpuHealthy", "True", "", "", ""}};
  rows[1].on.node = "gpu2";
  rows[1].on.reached = false;
  CHECK(cluster::health_verdict(rows).health() == cluster::Health::unknown);
  CHECK(cluster::health_table(rows, 0).find("Health checks: the state is unknown; 1 reading is missing") !=
        std::string::npos);
  rows.pop_back();
  CHECK(cluster::health_table(rows, 0).ends_with("Health checks: all nodes are healthy\n"));
  rows[0].on.state->conditions[0].status = "False";
  CHECK(cluster::health_verdict(rows).health() == cluster::Health::ill);
}
