#pragma once

#include "gpuadm/base/error.hpp"

#include <CLI/CLI.hpp>

namespace cli {

/// What is wrong with a command line, and the nearest thing that would be right.
[[nodiscard]] base::Error complain(const CLI::ParseError& error, const CLI::App& root);

}  // namespace cli
