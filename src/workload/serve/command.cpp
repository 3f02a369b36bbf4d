#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/serve.hpp"

#include <fmt/format.h>

namespace workload {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

void append(std::vector<std::string>& command, const std::vector<std::string>& words, const Values& values) {
  for (std::string word : words) {
    for (const auto& [name, value] : values) word = base::replace_all(std::move(word), name, value);
    command.push_back(std::move(word));
  }
}

std::string model_of(const ModelSource& source) {
  return source.kind == ModelSource::Kind::hub
             ? source.repository
             : std::string(model_mount) + (source.path == "/" ? "" : source.path);
}

}  // namespace

std::string health_of(const ModelServer& server) {
  return base::replace_all(server.engine.health, "{name}", server.pod.name);
}

std::vector<std::string> command_of(const ModelServer& server) {
  const Engine& engine = server.engine;
  if (engine.name.empty()) return server.pod.command;
  const Values values = {{"{model}", model_of(server.source)},
                         {"{name}", server.pod.name},
                         {"{port}", std::to_string(engine.port)},
                         {"{revision}", server.commit.empty() ? server.source.revision : server.commit},
                         {"{gpus}", std::to_string(processes_for(server.pod.gpus))},
                         {"{context}", std::to_string(server.context)}};
  std::vector<std::string> command;
  append(command, engine.command, values);
  const auto add = [&](const char* option, bool is_given) {
    if (const auto words = engine.options.find(option); is_given && words != engine.options.end())
      append(command, words->second, values);
  };
  add("storage", server.source.kind == ModelSource::Kind::storage);
  add("hub", server.source.kind == ModelSource::Kind::hub);
  add("revision", !server.source.revision.empty() || !server.commit.empty());
  add("gpus", server.pod.gpus.any());
  add("context", server.context > 0);
  return command;
}

}  // namespace workload
