#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/plan/plan.hpp"

namespace plan {

namespace {

using base::Tree;

Tree tree_of(const Action& action) {
  constexpr const char* kinds[] = {"shell", "file", "wait", "upload"};
  Tree tree = Tree::map_of(
      {{"id", action.id}, {"title", action.title}, {"kind", kinds[static_cast<int>(action.kind)]}});
  if (!action.path.empty()) tree.set("path", action.path);
  if (const auto content = action.variables.find("content"); content != action.variables.end())
    tree.set("sha256", base::sha256(content->second));
  if (!action.later.empty()) tree.set("later", Tree::list_of(action.later));
  if (!action.effects.packages.empty()) tree.set("packages", Tree::list_of(action.effects.packages));
  if (!action.effects.restarts.empty()) tree.set("restarts", Tree::list_of(action.effects.restarts));
  if (action.effects.reboot) tree.set("reboot", true);
  if (action.effects.network) tree.set("network", true);
  return tree;
}

Tree tree_of(const Stage& stage) {
  Tree walks = Tree::list();
  for (const Walk& walk : stage.walks) {
    Tree actions = Tree::list();
    for (const Action& action : walk.actions) actions.push(tree_of(action));
    walks.push(Tree::map_of({{"host", walk.host}, {"actions", std::move(actions)}}));
  }
  return Tree::map_of({{"phase", stage.name}, {"title", stage.title}, {"walks", std::move(walks)}});
}

}  // namespace

std::size_t Plan::size() const {
  std::size_t count = 0;
  for (const Stage& stage : stages)
    for (const Walk& walk : stage.walks) count += walk.actions.size();
  return count;
}

std::string to_json(const Plan& plan) {
  std::string text = "{\"playbook\": " + base::json::write(Tree(plan.playbook), 0) + ", \"stages\": [";
  const char* before = "\n";
  for (const Stage& stage : plan.stages) {
    text += before + base::json::write(tree_of(stage));
    before = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace plan
