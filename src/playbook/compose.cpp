#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"

#include "playbook/gpu_nodes.hpp"
#include "playbook/kubeadm.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using base::Tree;

using Base = std::optional<std::string>;

struct Composer {
  const char* name;
  Result<std::string> (*compose)(const Context&);
  /// The text on the host that it is made from, as the facts have it; nullptr: from none.
  Base (*base)(const Context&);
};

Base containerd_config(const Context& context) {
  return context.facts.containerd ? context.facts.containerd->config : Base();
}
Base daemon_json(const Context& context) {
  return context.facts.docker ? context.facts.docker->daemon_json : Base();
}

constexpr Composer table[] = {
    {"containerd-config", compose_containerd_config, containerd_config},
    {"device-plugin", compose_device_plugin, nullptr},
    {"docker-daemon", compose_docker_daemon, daemon_json},
    {"kubeadm-config", compose_kubeadm_config, nullptr},
};

}  // namespace

Result<Composed> compose(std::string_view name, const Context& context) {
  const auto* row = std::ranges::find_if(table, [&](const Composer& c) { return name == c.name; });
  if (row == std::end(table))
    return base::fail(base::Fault::bug, fmt::format("no composer is called '{}'", name));
  Composed composed{TRY(row->compose(context)), std::nullopt};
  if (row->base) {
    const Base base = row->base(context);
    composed.base_sha256 = base ? base::sha256(*base) : "absent";
  }
  return composed;
}

std::vector<std::string> composers() {
  std::vector<std::string> names;
  for (const Composer& composer : table) names.emplace_back(composer.name);
  return names;
}

Result<std::string> compose_docker_daemon(const Context& context) {
  const std::string path = "/etc/docker/daemon.json";
  const std::string before = context.facts.docker ? context.facts.docker->daemon_json.value_or("") : "";
  Tree tree = before.find_first_not_of(" \t\r\n") == std::string::npos
                  ? Tree::map()
                  : TRY(base::json::read(before, context.host.name + ":" + path));
  if (!tree.is_map())
    return base::fail(base::Fault::parse,
                      fmt::format("{}:{}: a JSON object is needed", context.host.name, path),
                      "mend or move the file, then run again");
  const Tree original = tree;
  // The kubelet and Docker must agree on the cgroup driver; another exec-opt of the operator stays.
  const std::string driver = "native.cgroupdriver=" + cgroup_driver(context);
  Tree options = Tree::list();
  if (const Tree* there = tree.find("exec-opts"))
    for (const Tree& option : there->items())
      if (!option.text().starts_with("native.cgroupdriver=")) options.push(option);
  options.push(driver);
  const Tree* there = tree.find("exec-opts");
  const bool set = there && std::ranges::any_of(there->items(),
                                                [&](const Tree& option) { return option.text() == driver; });
  if (!set) tree.set("exec-opts", options);
  if (context.cluster.patches.runtime.is_map()) tree.merge(context.cluster.patches.runtime);
  if (tree == original) return before.empty() ? "{}\n" : before;
  return base::json::write(tree, 2) + "\n";
}

}  // namespace playbook
