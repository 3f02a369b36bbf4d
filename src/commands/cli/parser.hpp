#pragma once

#include "commands/cli/settings.hpp"
#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <span>

namespace commands {

/// The options of all commands, and the commands with theirs. Parsing sets `chosen`; complete() must be
/// called before it. Both must outlive `root`'s parsing.
void declare_commands(CLI::App& root, Settings& settings, Run& chosen);

/// Removes the words after `--` if they are a command for hosts or containers. `words` begin with the
/// program's name.
[[nodiscard]] std::span<const char* const> split_command(std::span<const char* const> words,
                                                         const CLI::App& root, Settings& settings);

/// Writes into all options what the parser does not: --assets, and the words after `--`.
[[nodiscard]] base::Result<> complete(const Settings& settings);

/// The innermost recognized command.
[[nodiscard]] const CLI::App& recognized(const CLI::App& root);

}  // namespace commands
