#pragma once

#include "cli/model.hpp"

#include <string_view>

namespace cli {

/// What the values that gpuadm alone knows can be.
struct Names {
  std::vector<std::string> checks, keys;
};

/// A script that completes the command line in that shell, for it to read when it starts.
[[nodiscard]] std::string bash_completion(const Command& root, const Names& names);
[[nodiscard]] std::string zsh_completion(const Command& root, const Names& names);
[[nodiscard]] std::string fish_completion(const Command& root, const Names& names);

/// Names of options whose value is the next word, of all commands.
[[nodiscard]] std::vector<std::string> valued(const Command& root);
/// Every path but the first: "gpuadm config lint".
[[nodiscard]] std::vector<std::string> paths_below(const Command& root);

}  // namespace cli
