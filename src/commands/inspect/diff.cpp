#include "commands/install/bring_up.hpp"

namespace commands {

namespace {

/// Prints what apply would change, as its dry run does. Outcome::failed if there is a difference.
Result<Outcome> diff(const InitOptions& options, Io& io) {
  if (options.hosts.file.empty())
    return base::fail(base::Fault::usage, "no cluster file is given", "gpuadm diff -f cluster.yaml");
  Io in_full = io;
  in_full.out_style.diffs = report::Diffs::shown;
  return bring_up(options, Existing::accepted, Outcome::failed, in_full);
}

}  // namespace

Command diff_command() {
  return CommandRow<InitOptions>{
      .name = "diff",
      .group = Group::inspect,
      .summary = "Compare hosts with the cluster file; exit code 1 if they differ",
      .options =
          [](Line& line, InitOptions& options) {
            options.consent = Consent::preview;
            add_hosts(line, options.hosts, "all its hosts");
            add_connection(line, options.common);
            add_bundle_source(line, options.bundle, options.bundle_signers);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm diff -f cluster.yaml", "exit code 1 if something differs"}},
      .run = diff};
}

}  // namespace commands
