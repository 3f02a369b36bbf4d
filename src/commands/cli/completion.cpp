#include "commands/cli/completion.hpp"

#include <set>

namespace commands {

std::vector<std::string> valued(const CommandHelp& root) {
  std::set<std::string> names;
  each(root, [&](const CommandHelp& command) {
    for (const Argument& argument : command.arguments)
      if (!argument.value.empty() && !argument.attached && !argument.value.starts_with('['))
        names.insert(argument.names.begin(), argument.names.end());
  });
  return {names.begin(), names.end()};
}

std::vector<std::string> paths_below(const CommandHelp& root) {
  std::vector<std::string> paths;
  for (const CommandHelp& verb : root.subcommands)
    each(verb, [&](const CommandHelp& command) { paths.push_back(name_of(command)); });
  return paths;
}

}  // namespace commands
