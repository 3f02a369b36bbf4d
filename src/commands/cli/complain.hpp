#pragma once

#include "gpuadm/base/error.hpp"

#include <CLI/CLI.hpp>

#include <span>
#include <string>

namespace commands {

/// Errors of a command line, with the nearest correct one.
[[nodiscard]] base::Error complain(const CLI::ParseError& error, const CLI::App& root);

/// What to type if the word that `refused` names is the value of an option whose value must be attached:
/// "did you mean --watch=5?" for `--watch 5`. Empty: it is not. `words`: the command line.
[[nodiscard]] std::string detached_value(const base::Error& refused, const CLI::App& root,
                                         std::span<const char* const> words);

}  // namespace commands
