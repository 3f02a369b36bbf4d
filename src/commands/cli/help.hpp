#pragma once

#include "commands/cli/model.hpp"

namespace commands {

/// Of commands with many options, only the common ones, or all: `--help all`.
enum class HelpExtent { common, all };
/// The text of --help: at most `width` columns, except for longer words.
[[nodiscard]] std::string help_of(const CommandHelp& command, std::size_t width, HelpExtent extent);
/// Every command in Markdown: reference/cli.md of docs/make.
[[nodiscard]] std::string reference_of(const CommandHelp& root);

inline constexpr const char* exit_codes =
    "0 success, 1 failed (hosts may have changed), 2 invalid command line or cluster file, 3 blocked by "
    "findings "
    "(nothing "
    "changed), 4 host unreachable, 130 interrupted.";

}  // namespace commands
