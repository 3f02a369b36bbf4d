#include "playbook/runtime.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"

#include "playbook/containerd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace playbook {

Path operator/(Path path, const std::string& key) {
  path.push_back(key);
  return path;
}

Path operator/(Path path, const Path& rest) {
  path.insert(path.end(), rest.begin(), rest.end());
  return path;
}

std::string nvidia_runtime(const Context& context) {
  const std::string name = "nvidia-container-runtime";
  if (const auto place = context.facts.software.tool_paths.find(name);
      place != context.facts.software.tool_paths.end())
    return place->second;
  return std::ranges::find(context.facts.software.tools, name) == context.facts.software.tools.end()
             ? ""
             : "/usr/bin/" + name;
}

bool defaults_to_nvidia(const Context& context) {
  if (nvidia_runtime(context).empty()) return false;
  switch (context.cluster.runtime.default_runtime) {
    case spec::DefaultRuntime::runc:
      return false;
    case spec::DefaultRuntime::nvidia:
      return true;
    case spec::DefaultRuntime::automatic:
      break;
  }
  const bool dockershim =
      context.cluster.runtime.engine == spec::Engine::docker && context.kubernetes < base::Version{1, 24, 0};
  return dockershim || context.kubernetes < base::Version{1, 14, 0};
}

std::vector<std::string> command_of(const Context& context, const std::string& unit) {
  const auto place = context.facts.software.units.find(unit);
  std::vector<std::string> command;
  if (place != context.facts.software.units.end())
    for (const std::string_view word : base::words(place->second.command)) command.emplace_back(word);
  return command;
}

Result<> reads(const Context& context, const std::string& unit, const std::vector<std::string>& flags,
               const std::string& path) {
  const std::vector<std::string> command = command_of(context, unit);
  for (std::size_t i = 0; i < command.size(); ++i)
    for (const std::string& flag : flags) {
      std::string other;
      if (command[i] == flag && i + 1 < command.size()) other = command[i + 1];
      if (command[i].starts_with(flag + "=")) other = command[i].substr(flag.size() + 1);
      if (!other.empty() && other != path)
        return base::fail(
            base::Fault::spec,
            fmt::format("{}: {} reads {}, but gpuadm configures {}", context.host.name, unit,
                        base::printable(other, 200), path),
            fmt::format("systemctl edit {}: start it without {}, or make {} a link to that file", unit, flag,
                        path));
    }
  return {};
}

base::Version engine_version(const std::string& text, const base::Version& fallback) {
  return base::Version::parse(text).value_or(fallback);
}

Result<base::Tree> effective(const Context& context, const std::vector<Composed>& files) {
  if (context.cluster.runtime.engine == spec::Engine::docker)
    return base::json::read(files.front().content, "daemon.json");
  if (context.cluster.runtime.engine == spec::Engine::crio) {
    std::map<std::string, std::string> texts;
    if (context.facts.runtime.crio_config) texts = context.facts.runtime.crio_config->texts;
    for (const Composed& file : files) texts[file.path] = file.content;
    base::Tree tree = base::Tree::map();
    for (const auto& [path, text] : texts) tree.merge(TRY(base::toml::read(text, path)));
    return tree;
  }
  facts::Containerd containerd = context.facts.runtime.containerd.value_or(facts::Containerd{});
  for (const Composed& file : files)
    (file.path == containerd_config_path ? containerd.config.emplace()
                                         : containerd.drop_in_texts[file.path]) = file.content;
  return effective_containerd(TRY(containerd_parts(containerd, context.host.name)),
                              engine_version(containerd.version, {1, 6, 0}));
}

}  // namespace playbook
