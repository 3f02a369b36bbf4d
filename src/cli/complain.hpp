#pragma once

#include "gpuadm/base/error.hpp"

#include <CLI/CLI.hpp>

namespace cli {

/// Errors of a command line, with the nearest correct one.
[[nodiscard]] base::Error complain(const CLI::ParseError& error, const CLI::App& root);

}  // namespace cli
