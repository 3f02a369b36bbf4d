#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/idle.hpp"

#include <algorithm>

namespace cluster {

namespace {

using base::Tree;

constexpr double longest_warning = 900;  // seconds before the limit
constexpr double warning_part = 0.25;
constexpr std::size_t longest_time = 64;

/// Whether no kernel computes: one that prints nothing has no activity while it does. Jupyter has more states
/// than these two; what is in another one may compute.
bool are_idle(const Tree& kernels) {
  return kernels.is_list() && std::ranges::all_of(kernels.items(), [](const Tree& kernel) {
           const std::string state = base::text_of(kernel, "execution_state");
           return state == "idle" || state == "dead";
         });
}

}  // namespace

std::optional<std::string> idle_mark(const Tree* status, const Tree* kernels,
                                     const std::optional<std::string>& gpus_idle_since) {
  if (!gpus_idle_since || !status || !kernels || !are_idle(*kernels)) return std::nullopt;
  const std::string last = base::text_of(*status, "last_activity");
  if (last.size() > longest_time || !base::parse_time(last)) return std::nullopt;
  return last + " " + *gpus_idle_since;
}

Tree to_tree(const IdleWatch& watch) {
  Tree notebooks = Tree::map();
  for (const auto& [name, one] : watch.notebooks)
    notebooks.set(name, Tree::map_of({{"mark", one.mark}, {"since", one.since}, {"warned", one.warned}}));
  return Tree::map_of({{"bootId", watch.boot_id}, {"next", watch.next}, {"notebooks", std::move(notebooks)}});
}

IdleWatch idle_watch_in(const Tree& tree) {
  IdleWatch watch{.boot_id = base::text_of(tree, "bootId"), .notebooks = {}};
  if (const Tree* next = tree.find("next")) watch.next = next->as_real().value_or(0);
  const Tree* notebooks = tree.find("notebooks");
  if (!notebooks) return watch;
  for (const auto& [name, one] : notebooks->entries()) {
    const Tree* since = one.find("since");
    const Tree* warned = one.find("warned");
    if (!since || !since->as_real()) continue;
    watch.notebooks[name] = {base::text_of(one, "mark"), *since->as_real(),
                             warned && warned->as_bool().value_or(false)};
  }
  return watch;
}

bool is_check_due(const IdleWatch& watch, const Moment& now) {
  return watch.boot_id != now.boot_id || now.uptime >= watch.next;
}

IdleVerdict next_step(IdleWatch& watch, const std::string& notebook, const std::optional<std::string>& mark,
                      double limit, const Moment& now) {
  if (watch.boot_id != now.boot_id) watch = {.boot_id = now.boot_id, .notebooks = {}};
  if (!mark) return {};
  IdleNotebook& one = watch.notebooks.try_emplace(notebook, IdleNotebook{*mark, now.uptime}).first->second;
  if (one.mark != *mark || one.since > now.uptime) one = {*mark, now.uptime};
  const double idle = now.uptime - one.since;
  if (idle < limit - std::min(longest_warning, limit * warning_part)) return {IdleStep::none, idle};
  if (!one.warned) return {IdleStep::warn, idle};
  return {idle < limit ? IdleStep::none : IdleStep::stop, idle};
}

}  // namespace cluster
