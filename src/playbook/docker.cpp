#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"

#include "playbook/kubeadm.hpp"
#include "playbook/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace playbook {

namespace {

using base::Tree;

const std::string config_path = "/etc/docker/daemon.json";

std::unexpected<base::Error> refuse(const Context& context, const std::string& what) {
  return base::fail(base::Fault::parse, fmt::format("{}:{}: {}", context.host.name, config_path, what),
                    "fix or move the file, then run again");
}

/// Docker does not start if a setting is both in its command line and in the file.
Result<> said_once(const Context& context, const Tree& tree) {
  constexpr std::pair<const char*, const char*> both[] = {{"--exec-opt", "exec-opts"},
                                                          {"--add-runtime", "runtimes"},
                                                          {"--default-runtime", "default-runtime"},
                                                          {"--registry-mirror", "registry-mirrors"}};
  for (const std::string& word : command_of(context, "docker.service"))
    for (const auto& [flag, key] : both)
      if (tree.find(key) && (word == flag || word.starts_with(std::string(flag) + "=")))
        return base::fail(
            base::Fault::spec,
            fmt::format("{}: docker.service is started with {}, but {} belongs in {}", context.host.name,
                        flag, key, config_path),
            fmt::format("systemctl edit docker.service: move what {} says to {}", flag, config_path));
  return {};
}

/// The kubelet and Docker must use the same cgroup driver; other exec-opts of the operator are kept.
void set_cgroup_driver(Tree& tree, const std::string& wanted) {
  const std::string key = "native.cgroupdriver=";
  Tree options = Tree::list();
  std::vector<std::string> there;
  if (const Tree* all = tree.find("exec-opts"))
    for (const Tree& option : all->items())
      option.text().starts_with(key) ? there.push_back(option.text()) : options.push(option);
  if (there == std::vector{key + wanted}) return;
  options.push(key + wanted);
  tree.set("exec-opts", options);
}

/// The cluster file's mirror is used before the operator's.
void use_mirror(Tree& tree, const std::map<std::string, std::string>& mirrors) {
  const auto mirror = mirrors.find("docker.io");
  if (mirror == mirrors.end()) return;
  Tree list = Tree::list_of(std::vector{mirror->second});
  if (const Tree* theirs = tree.find("registry-mirrors"))
    for (const Tree& url : theirs->items())
      if (url.text() != mirror->second && url.text() != mirror->second + "/") list.push(url);
  tree.set("registry-mirrors", list);
}

void set_nvidia(Tree& tree, const Context& context) {
  const std::string binary = nvidia_runtime(context);
  if (!binary.empty()) {
    Tree& runtimes = tree["runtimes"];
    if (!runtimes.find("nvidia")) runtimes.set("nvidia", Tree::map_of({{"path", binary}}));
    // Off by default until 28.3; Docker before 25 does not support it (docs.docker.com, engine release
    // notes).
    const base::Version engine = engine_version(context.facts.runtime.docker->version, {20, 10, -1});
    if (engine >= base::Version{25, -1, -1} && engine < base::Version{28, 3, -1})
      tree["features"].set("cdi", true);
  }
  if (defaults_to_nvidia(context))
    tree.set("default-runtime", "nvidia");
  else if (context.cluster.runtime.default_runtime == spec::DefaultRuntime::runc)
    tree.set("default-runtime", "runc");
}

}  // namespace

Result<std::vector<Composed>> compose_docker_daemon(const Context& context) {
  TRY(reads(context, "docker.service", {"--config-file"}, config_path));
  const std::optional<std::string> there =
      context.facts.runtime.docker ? context.facts.runtime.docker->daemon_json : std::nullopt;
  const std::string before = there.value_or("");
  Tree tree = before.find_first_not_of(" \t\r\n") == std::string::npos
                  ? Tree::map()
                  : TRY(base::json::read(before, context.host.name + ":" + config_path));
  if (!tree.is_map()) return refuse(context, "a JSON object is needed");
  for (const char* key : {"exec-opts", "registry-mirrors"})
    if (const Tree* list = tree.find(key); list && !list->is_list())
      return refuse(context, fmt::format("{} must be a list", key));
  for (const char* key : {"runtimes", "features"})
    if (const Tree* map = tree.find(key); map && !map->is_map())
      return refuse(context, fmt::format("{} must be an object", key));
  const Tree original = tree;
  set_cgroup_driver(tree, cgroup_driver(context));
  use_mirror(tree, context.cluster.mirrors.registries);
  if (context.facts.runtime.docker) set_nvidia(tree, context);
  if (context.cluster.patches.runtime.is_map()) tree.merge(context.cluster.patches.runtime);
  TRY(said_once(context, tree));
  const std::string content = tree == original && there ? before : base::json::write(tree, 2) + "\n";
  return std::vector{Composed{config_path, content, there ? base::sha256(before) : "absent"}};
}

}  // namespace playbook
