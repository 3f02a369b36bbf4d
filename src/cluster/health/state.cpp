#include "gpuadm/cluster/health_state.hpp"

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

using base::Tree;

constexpr double least_step = 60;

Tree tree_of(const Moment& moment) {
  return Tree::map_of(
      {{"at", moment.at}, {"epoch", moment.epoch}, {"uptime", moment.uptime}, {"bootId", moment.boot_id}});
}

double real_of(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->as_real().value_or(0) : 0;
}

int int_of(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? static_cast<int>(std::clamp<std::int64_t>(value->as_int().value_or(0), 0, 1 << 20)) : 0;
}

Moment moment_in(const Tree* tree) {
  if (!tree) return {};
  return {base::text_of(*tree, "at"), real_of(*tree, "epoch"), real_of(*tree, "uptime"),
          base::text_of(*tree, "bootId")};
}

Tree tree_of(const HealthEvent& event) {
  return Tree::map_of({{"name", event.name},
                       {"warning", event.warning},
                       {"reason", event.reason},
                       {"message", event.message},
                       {"at", event.at}});
}

HealthEvent event_in(const Tree& tree) {
  const Tree* warning = tree.find("warning");
  return {base::text_of(tree, "name"), !warning || warning->as_bool().value_or(true),
          base::text_of(tree, "reason"), base::text_of(tree, "message"), base::text_of(tree, "at")};
}

}  // namespace

Tree to_tree(const GpuStates& states) {
  Tree tree = Tree::map();
  for (const auto& [uuid, status] : states) tree.set(uuid, status);
  return tree;
}

GpuStates gpu_states_in(const Tree& tree) {
  GpuStates states;
  for (const auto& [uuid, status] : tree.entries()) states.emplace(uuid, status.text());
  return states;
}

Tree to_tree(const HealthState& state) {
  Tree events = Tree::list(), streaks = Tree::map();
  for (const HealthEvent& event : state.events) events.push(tree_of(event));
  for (const auto& [node, streak] : state.streaks)
    streaks.set(node, Tree::map_of({{"bad", streak.bad},
                                    {"good", streak.good},
                                    {"heartbeat", streak.heartbeat},
                                    {"since", streak.since}}));
  Tree idle = Tree::map();
  for (const auto& [pod, since] : state.idle) idle.set(pod, since);
  return Tree::map_of({{"node", state.node},
                       {"last", tree_of(state.last)},
                       {"conditions", to_tree(state.conditions)},
                       {"first", state.first},
                       {"gpus", state.gpus},
                       {"gpuStates", to_tree(state.gpu_states)},
                       {"published", state.published},
                       {"sent", tree_of(state.sent)},
                       {"repeated", state.repeated},
                       {"problem", state.problem},
                       {"events", std::move(events)},
                       {"dropped", state.dropped},
                       {"streaks", std::move(streaks)},
                       {"limited", Tree::list_of(state.limited)},
                       {"idle", std::move(idle)}});
}

HealthState state_in(const Tree& tree) {
  HealthState state;
  state.node = base::text_of(tree, "node");
  state.last = moment_in(tree.find("last"));
  if (const Tree* list = tree.find("conditions")) state.conditions = conditions_in(*list);
  state.first = base::text_of(tree, "first");
  state.gpus = int_of(tree, "gpus");
  if (const Tree* states = tree.find("gpuStates")) state.gpu_states = gpu_states_in(*states);
  const Tree* published = tree.find("published");
  state.published = published && published->as_bool().value_or(false);
  state.sent = moment_in(tree.find("sent"));
  state.repeated = int_of(tree, "repeated");
  state.problem = base::text_of(tree, "problem");
  if (const Tree* events = tree.find("events"))
    for (const Tree& event : events->items()) enqueue(state, event_in(event));
  state.dropped += int_of(tree, "dropped");
  if (const Tree* streaks = tree.find("streaks"))
    for (const auto& [node, streak] : streaks->entries())
      state.streaks[node] = {int_of(streak, "bad"), int_of(streak, "good"),
                             base::text_of(streak, "heartbeat"), real_of(streak, "since")};
  if (const Tree* limited = tree.find("limited"))
    for (const Tree& node : limited->items()) state.limited.push_back(node.text());
  if (const Tree* idle = tree.find("idle"))
    for (const auto& [pod, since] : idle->entries()) state.idle.emplace(pod, since.text());
  return state;
}

void enqueue(HealthState& state, HealthEvent event) {
  state.events.push_back(std::move(event));
  if (state.events.size() <= most_events) return;
  state.events.erase(state.events.begin());
  ++state.dropped;
}

bool must_publish(const HealthState& state, const Moment& now) {
  return !state.published || state.repeated < send_repeated || state.sent.boot_id != now.boot_id ||
         now.uptime < state.sent.uptime || now.uptime - state.sent.uptime >= heartbeat_seconds;
}

std::optional<long long> clock_step(const Moment& before, const Moment& now) {
  if (before.boot_id.empty() || before.boot_id != now.boot_id) return std::nullopt;
  const double step = (now.epoch - now.uptime) - (before.epoch - before.uptime);
  if (std::abs(step) < least_step) return std::nullopt;
  return std::llround(step);
}

}  // namespace cluster
