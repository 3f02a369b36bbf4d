#include "gpuadm/base/files.hpp"
#include "gpuadm/plan/plan.hpp"

namespace plan {

std::size_t Plan::size() const {
  std::size_t count = 0;
  for (const Stage& stage : stages)
    for (const Walk& walk : stage.walks) count += walk.actions.size();
  return count;
}

base::Tree to_tree(const Plan& plan) {
  using base::Tree;
  constexpr const char* kinds[] = {"shell", "file", "wait", "upload"};
  Tree stages = Tree::list();
  for (const Stage& stage : plan.stages) {
    Tree walks = Tree::list();
    for (const Walk& walk : stage.walks) {
      Tree actions = Tree::list();
      for (const Action& action : walk.actions) {
        Tree tree = Tree::map_of(
            {{"id", action.id}, {"title", action.title}, {"kind", kinds[static_cast<int>(action.kind)]}});
        if (!action.path.empty()) tree.set("path", action.path);
        if (const auto content = action.variables.find("content"); content != action.variables.end())
          tree.set("sha256", base::sha256(content->second));
        if (!action.later.empty()) tree.set("later", Tree::list_of(action.later));
        if (!action.effects.packages.empty()) tree.set("packages", Tree::list_of(action.effects.packages));
        if (!action.effects.restarts.empty()) tree.set("restarts", Tree::list_of(action.effects.restarts));
        if (action.effects.reboot) tree.set("reboot", true);
        actions.push(std::move(tree));
      }
      walks.push(Tree::map_of({{"host", walk.host}, {"actions", actions}}));
    }
    stages.push(Tree::map_of({{"phase", stage.name}, {"title", stage.title}, {"walks", walks}}));
  }
  return Tree::map_of({{"playbook", plan.playbook}, {"stages", stages}});
}

}  // namespace plan
