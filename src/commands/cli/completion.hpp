#pragma once

#include "commands/cli/model.hpp"

#include <string_view>

namespace commands {

/// The possible values of gpuadm's own kinds.
struct Names {
  std::vector<std::string> checks, train_checks, keys;
};

/// A completion script for that shell, to be sourced at its start.
[[nodiscard]] std::string bash_completion(const CommandHelp& root, const Names& names);
[[nodiscard]] std::string zsh_completion(const CommandHelp& root, const Names& names);
[[nodiscard]] std::string fish_completion(const CommandHelp& root, const Names& names);

/// Names of options of all commands whose value is the next word.
[[nodiscard]] std::vector<std::string> valued(const CommandHelp& root);
/// Every path but the first: "gpuadm config lint".
[[nodiscard]] std::vector<std::string> paths_below(const CommandHelp& root);

}  // namespace commands
