#include "gpuadm/base/json.hpp"
#include "gpuadm/cluster/gpu_idle.hpp"
#include "gpuadm/cluster/idle.hpp"

#include <doctest/doctest.h>

using base::Tree;
using cluster::IdleStep;
using cluster::IdleWatch;
using cluster::NotebookUse;

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

NotebookUse idle(const std::string& mark) {
  return {NotebookUse::State::idle, mark};
}

/// Through its file, as between two runs.
IdleWatch again(const IdleWatch& watch) {
  return cluster::idle_watch_in(tree(base::json::write(cluster::to_tree(watch), 0)));
}

}  // namespace

TEST_CASE("a notebook is idle only if Jupyter and the GPUs say so") {
  using State = NotebookUse::State;
  CHECK(cluster::notebook_use(&status, &idle_kernel, since).state == State::idle);
  CHECK(cluster::notebook_use(&status, &no_kernels, no_gpus).state == State::idle);
  CHECK(cluster::notebook_use(&status, &idle_kernel, since).mark !=
        cluster::notebook_use(&status, &idle_kernel, no_gpus).mark);
  for (const char* state : {"busy", "starting", "restarting"}) {
    const Tree kernels =
        tree(R"([{"execution_state":"idle"},{"execution_state":")" + std::string(state) + "\"}]");
    CHECK(cluster::notebook_use(&status, &kernels, since).state == State::used);
  }
  // What was not read, or is something else, is unknown.
  CHECK(cluster::notebook_use(&status, &idle_kernel, none).state == State::unknown);
  CHECK(cluster::notebook_use(nullptr, &idle_kernel, since).state == State::unknown);
  CHECK(cluster::notebook_use(&status, nullptr, since).state == State::unknown);
  CHECK(cluster::notebook_use(&status, &status, since).state == State::unknown);
  for (const char* text : {"{}", R"({"last_activity":"yesterday"})", "[]", "3"}) {
    const Tree other = tree(text);
    CHECK(cluster::notebook_use(&other, &no_kernels, since).state == State::unknown);
  }
}

TEST_CASE("an idle notebook is warned, then stopped; use, a boot and a new mark start the time again") {
  constexpr double limit = 7200;
  IdleWatch watch;
  const auto look = [&](double uptime, const NotebookUse& use, const std::string& boot = "one") {
    const auto verdict = cluster::next_step(watch, "default/anna u1", use, limit, at(uptime, boot));
    watch = again(watch);
    return verdict.step;
  };
  CHECK(look(0, idle("a")) == IdleStep::none);
  CHECK(look(6299, idle("a")) == IdleStep::none);
  CHECK(look(6300, idle("a")) == IdleStep::warn);  // 15 minutes before the limit
  CHECK(look(6360, idle("a")) == IdleStep::none);
  CHECK(look(7199, idle("a")) == IdleStep::none);
  // It was used in between.
  CHECK(look(7200, idle("b")) == IdleStep::none);
  CHECK(look(13500, idle("b")) == IdleStep::warn);
  CHECK(look(14400, {NotebookUse::State::unknown, {}}) == IdleStep::none);
  CHECK(look(14401, idle("b")) == IdleStep::stop);
  CHECK(look(14402, {NotebookUse::State::used, {}}) == IdleStep::none);
  CHECK(look(14403, idle("b")) == IdleStep::none);
  CHECK(look(29000, idle("b"), "two") == IdleStep::none);
  // Nothing was checked for long: it is warned before it is stopped.
  CHECK(look(50000, idle("b"), "two") == IdleStep::warn);
  CHECK(look(50060, idle("b"), "two") == IdleStep::stop);
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
