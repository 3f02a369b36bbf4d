#pragma once

#include "commands/app.hpp"

#include <CLI/CLI.hpp>

namespace commands {

/// `[TARGET…] -f FILE`. `without`: the hosts of a command line without targets; empty: it is refused.
void add_hosts(CLI::App& verb, commands::Hosts& hosts,
               const std::string& without = "all its hosts, or this machine");
/// Connection settings and time limits.
void add_connection(CLI::App& verb, commands::Connection& connection);

}  // namespace commands
