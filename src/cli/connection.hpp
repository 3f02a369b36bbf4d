#pragma once

#include "gpuadm/app/app.hpp"

#include <CLI/CLI.hpp>

namespace cli {

/// `[TARGET…] -f FILE`
void add_hosts(CLI::App& verb, app::Hosts& hosts);
/// Connection settings and time limits.
void add_connection(CLI::App& verb, app::Connection& connection);

}  // namespace cli
