#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/health.hpp"

#include <algorithm>

namespace cluster {

namespace {

using base::Tree;

bool is_ours(const Tree& condition) {
  return std::ranges::find(health_types, base::text_of(condition, "type")) != health_types.end();
}

Tree* conditions_list(Tree& node) {
  Tree* status = node.find("status");
  return status ? status->find("conditions") : nullptr;
}

}  // namespace

std::vector<HealthCondition> carry_over(std::span<const HealthCondition> before,
                                        std::vector<HealthCondition>& conditions, const std::string& now) {
  std::vector<HealthCondition> changed;
  for (HealthCondition& condition : conditions) {
    const auto old = std::ranges::find(before, condition.type, &HealthCondition::type);
    const bool same = old != before.end() && old->status == condition.status;
    condition.since = same && !old->since.empty() ? old->since : now;
    if (!same || old->reason != condition.reason || old->message != condition.message)
      changed.push_back(condition);
  }
  return changed;
}

Tree to_tree(std::span<const HealthCondition> conditions) {
  Tree list = Tree::list();
  for (const HealthCondition& one : conditions)
    list.push(Tree::map_of({{"type", one.type},
                            {"status", one.status},
                            {"reason", one.reason},
                            {"message", one.message},
                            {"since", one.since}}));
  return list;
}

std::vector<HealthCondition> conditions_in(const Tree& list) {
  std::vector<HealthCondition> conditions;
  for (const Tree& one : list.items()) {
    HealthCondition condition{base::text_of(one, "type"), base::text_of(one, "status"),
                              base::text_of(one, "reason"), base::text_of(one, "message"),
                              base::text_of(one, "since")};
    if (!condition.type.empty()) conditions.push_back(std::move(condition));
  }
  return conditions;
}

std::vector<HealthCondition> conditions_of_node(const Tree& node) {
  std::vector<HealthCondition> conditions;
  const Tree* list = node.at({"status", "conditions"});
  if (!list) return conditions;
  for (const Tree& one : list->items())
    if (is_ours(one))
      conditions.push_back({base::text_of(one, "type"), base::text_of(one, "status"),
                            base::text_of(one, "reason"), base::text_of(one, "message"),
                            base::text_of(one, "lastTransitionTime")});
  return conditions;
}

bool set_conditions(Tree& node, std::span<const HealthCondition> conditions, const std::string& heartbeat) {
  Tree* list = conditions_list(node);
  if (!list) {
    if (conditions.empty()) return false;
    list = &node["status"].set("conditions", Tree::list());
  }
  const std::size_t removed = std::erase_if(list->items(), is_ours);
  for (const HealthCondition& one : conditions)
    list->push(Tree::map_of({{"type", one.type},
                             {"status", one.status},
                             {"reason", one.reason},
                             {"message", one.message},
                             {"lastHeartbeatTime", heartbeat},
                             {"lastTransitionTime", one.since}}));
  return removed > 0 || !conditions.empty();
}

bool has_health_taint(const Tree& node) {
  const Tree* taints = node.at({"spec", "taints"});
  return taints && std::ranges::any_of(taints->items(), [](const Tree& taint) {
           return base::text_of(taint, "key") == health_taint;
         });
}

}  // namespace cluster
