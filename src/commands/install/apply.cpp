#include "commands/install/bring_up.hpp"

namespace commands {

namespace {

/// init with every host of a cluster file.
Result<Outcome> apply(const InitOptions& options, Io& io) {
  if (options.hosts.file.empty() && !options.list_phases)
    return base::fail(base::Fault::usage, "no cluster file is given", "gpuadm apply -f cluster.yaml");
  return bring_up(options, Existing::accepted, Outcome::done, io);
}

}  // namespace

Command apply_command() {
  return CommandRow<InitOptions>{
      .name = "apply",
      .group = Group::install,
      .summary = "Create or update the cluster described by a cluster file",
      .options =
          [](Line& line, InitOptions& options) {
            add_hosts(line, options.hosts, "all its hosts");
            add_connection(line, options.common);
            add_bring_up(line, options);
          },
      .examples = {{"gpuadm apply -f cluster.yaml --dry-run", "what would change, on each host"},
                   {"gpuadm apply -f cluster.yaml", "can be repeated at any time"}},
      .run = apply};
}

}  // namespace commands
