#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/gpu_idle.hpp"
#include "gpuadm/cluster/idle.hpp"

#include <doctest/doctest.h>

using base::Tree;
using cluster::IdleStep;
using cluster::IdleWatch;

namespace {

Tree tree(std::string_view text) {
  return base::json::read(text, "test").value_or(Tree());
}

cluster::Moment at(double uptime, const std::string& boot = "one") {
  return {"2026-11-30T10:00:00Z", 1.8e9, uptime, boot};
}

const Tree status = tree(R"({"last_activity":"2026-11-30T10:00:00.123456Z","connections":0,"kernels":1})");
const Tree idle_kernel = tree(R"([{"execution_state":"idle"}])"), no_kernels = tree("[]");
const std::optional<std::string> none, no_gpus = "", since = "2026-11-30T09:00:00Z";

/// Through its file, as between two runs.
IdleWatch again(const IdleWatch& watch) {
  return cluster::idle_watch_in(tree(base::json::write(cluster::to_tree(watch), 0)));
}

}  // namespace

TEST_CASE("a notebook is idle only if Jupyter and the GPUs say so") {
  CHECK(cluster::idle_mark(&status, &idle_kernel, since));
  CHECK(cluster::idle_mark(&status, &no_kernels, no_gpus));
  CHECK(cluster::idle_mark(&status, &idle_kernel, since) !=
        cluster::idle_mark(&status, &idle_kernel, no_gpus));
  const Tree ended = tree(R"([{"execution_state":"dead"}])");
  CHECK(cluster::idle_mark(&status, &ended, since));
  // A state that is not known may be one in which a kernel computes.
  for (const char* state :
       {"busy", "starting", "restarting", "autorestarting", "unknown", "", "state-of-2030"}) {
    CAPTURE(state);
    const Tree kernels =
        tree(R"([{"execution_state":"idle"},{"execution_state":")" + std::string(state) + "\"}]");
    CHECK(!cluster::idle_mark(&status, &kernels, since));
  }
  // What was not read, or is something else, is unknown.
  CHECK(!cluster::idle_mark(&status, &idle_kernel, none));
  CHECK(!cluster::idle_mark(nullptr, &idle_kernel, since));
  CHECK(!cluster::idle_mark(&status, nullptr, since));
  CHECK(!cluster::idle_mark(&status, &status, since));
  for (const char* text : {"{}", R"({"last_activity":"yesterday"})", "[]", "3"}) {
    const Tree other = tree(text);
    CHECK(!cluster::idle_mark(&other, &no_kernels, since));
  }
}

TEST_CASE("an idle notebook is warned, then stopped; use, a boot and a new mark start the time again") {
  constexpr double limit = 7200;
  IdleWatch watch;
  bool can_warn = true;
  const auto read = [&](double uptime, const std::optional<std::string>& mark,
                        const std::string& boot = "one") {
    const auto verdict = cluster::next_step(watch, "default/anna u1", mark, limit, at(uptime, boot));
    if (verdict.step == IdleStep::warn && can_warn) watch.notebooks.at("default/anna u1").warned = true;
    watch = again(watch);
    return verdict.step;
  };
  CHECK(read(0, "a") == IdleStep::none);
  CHECK(read(6299, "a") == IdleStep::none);
  CHECK(read(6300, "a") == IdleStep::warn);  // 15 minutes before the limit
  CHECK(read(6360, "a") == IdleStep::none);
  CHECK(read(7199, "a") == IdleStep::none);
  // It was used in between.
  CHECK(read(7200, "b") == IdleStep::none);
  CHECK(read(13500, "b") == IdleStep::warn);
  CHECK(read(14400, std::nullopt) == IdleStep::none);
  CHECK(read(14401, "b") == IdleStep::stop);
  CHECK(read(14403, "c") == IdleStep::none);
  CHECK(read(29000, "c", "two") == IdleStep::none);
  // Nothing was checked for long: it is warned before it is stopped. One that cannot be warned is not
  // stopped.
  can_warn = false;
  CHECK(read(50000, "c", "two") == IdleStep::warn);
  can_warn = true;
  CHECK(read(50060, "c", "two") == IdleStep::warn);
  CHECK(read(50120, "c", "two") == IdleStep::stop);
}

TEST_CASE("the next check is due at its time, and after a boot") {
  IdleWatch watch{.boot_id = "one", .next = 100, .notebooks = {}};
  CHECK(!cluster::is_check_due(watch, at(99)));
  CHECK(cluster::is_check_due(watch, at(100)));
  CHECK(cluster::is_check_due(watch, at(5, "two")));
  CHECK(cluster::is_check_due({}, at(0)));
}

TEST_CASE("a damaged annotation of a Node has no pods, and ours is replaced and removed") {
  Tree node = tree(R"({"metadata":{"name":"n"}})");
  const cluster::IdlePods pods = {{"u1", "2026-11-30T10:00:00Z"}};
  CHECK(!cluster::set_idle_pods(node, {}));
  CHECK(cluster::set_idle_pods(node, pods));
  CHECK(!cluster::set_idle_pods(node, pods));
  CHECK(cluster::idle_pods_of_node(node) == pods);
  CHECK(cluster::set_idle_pods(node, {}));
  CHECK(cluster::idle_pods_of_node(node).empty());
  for (const char* value : {"", "{", "[1]", "3", R"({\"u1\":\"now\"})", R"({\"u1\":{}})"}) {
    CAPTURE(value);
    node =
        tree(R"({"metadata":{"annotations":{"gpuadm.io/gpus-idle-since":")" + std::string(value) + "\"}}}");
    CHECK(cluster::idle_pods_of_node(node).empty());
  }
}

TEST_CASE("idle pods are listed by their time; a node that does not report is unknown") {
  const auto now =
      base::Time(std::chrono::seconds(static_cast<long long>(*base::parse_time("2026-11-30T12:00:00Z"))));
  const auto node = [](const char* name, const char* heartbeat, const char* idle) {
    return tree(
        R"({"metadata":{"name":")" + std::string(name) + R"(","annotations":{"gpuadm.io/gpus-idle-since":")" +
        idle +
        R"("}},"status":{"capacity":{"nvidia.com/gpu":"8"},"conditions":[{"type":"GPUHealthy","lastHeartbeatTime":")" +
        heartbeat + R"("}]}})");
  };
  const std::vector<Tree> nodes = {
      node("gpu1", "2026-11-30T11:58:00Z",
           R"({\"u1\":\"2026-11-30T11:00:00Z\",\"u2\":\"2026-11-30T10:00:00Z\"})"),
      node("gpu2", "2026-11-30T11:00:00Z", R"({\"u3\":\"2026-11-30T11:00:00Z\"})")};
  const std::vector<Tree> pods = {tree(
      R"({"metadata":{"uid":"u1","name":"anna-x","namespace":"team","labels":{"gpuadm.io/kind":"notebook","gpuadm.io/name":"anna"}},"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"2"}}}]}})")};
  const auto table = cluster::idle_table(nodes, pods, now);
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].pod.empty());
  CHECK(table.rows[1].gpus == 2);
  CHECK(table.unknown == std::vector<std::string>{"gpu2"});
  const std::string text = cluster::to_text(table, now, 80);
  CHECK(text.contains("notebook team/anna"));
  CHECK(text.contains("(in another namespace)"));
  CHECK(text.contains("2h"));
  CHECK(text.contains("gpu2: unknown"));
  CHECK(cluster::to_text(cluster::idle_table({}, {}, now), now, 80) ==
        "every pod that holds GPUs uses them\n");
}
