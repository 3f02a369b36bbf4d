#include "commands/install/bring_up.hpp"

namespace commands {

namespace {

Result<Outcome> init(const InitOptions& options, Io& io) {
  return bring_up(options, Existing::refused, Outcome::done, io);
}

}  // namespace

Command init_command() {
  return CommandRow<InitOptions>{
      .name = "init",
      .group = Group::install,
      .summary = "Create a single-node Kubernetes cluster on a host",
      .options =
          [](Line& line, InitOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            add_bring_up(line, options);
          },
      .examples = {{"gpuadm init", "this machine"},
                   {"gpuadm init ubuntu@192.0.2.10 --dry-run", "a dry run on another host"},
                   {"gpuadm init -f cluster.yaml -y", "from a cluster file, without confirmation"},
                   {"gpuadm init root@192.0.2.10 --bundle lab.tar.zst", "offline, from a bundle"}},
      .run = init};
}

}  // namespace commands
