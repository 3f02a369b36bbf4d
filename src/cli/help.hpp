#pragma once

#include "cli/model.hpp"

namespace cli {

/// What --help prints: at most `width` columns, but for words that are longer.
[[nodiscard]] std::string help_of(const Command& command, std::size_t width);
/// Every command in Markdown: docs/reference/cli.md.
[[nodiscard]] std::string reference_of(const Command& root);

inline constexpr const char* exit_codes =
    "0 done, 1 failed (hosts may have changed), 2 bad command line or cluster file, 3 blocked by findings "
    "(nothing was "
    "changed), 4 a host could not be reached, 130 interrupted.";

}  // namespace cli
