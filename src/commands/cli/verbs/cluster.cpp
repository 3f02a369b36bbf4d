#include "commands/cli/verbs/cluster.hpp"

#include "commands/cli/options.hpp"
#include "commands/install/cluster.hpp"

namespace commands {

namespace {

void add_apply(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("apply", "Create or update the cluster described by a cluster file");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::InitOptions& of) -> commands::Common& { return of.common; },
      commands::apply);
  add_hosts(*verb, options->hosts, "all its hosts");
  add_connection(*verb, options->common.connection);
  add_bring_up(*verb, *options, global);
}

void add_diff(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("diff", "Compare hosts with the cluster file; exit code 1 if they differ");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::InitOptions& of) -> commands::Common& { return of.common; },
      commands::diff);
  add_hosts(*verb, options->hosts, "all its hosts");
  add_connection(*verb, options->common.connection);
  add_bundle_source(*verb, options->bundle, options->bundle_signers);
  add_format(*verb, options->format);
}

void add_join(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("join", "Add hosts to an existing cluster");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::JoinOptions& of) -> commands::Common& { return of.init.common; },
      commands::join);
  add_hosts(*verb, options->init.hosts, "");
  add_connection(*verb, options->init.common.connection);
  verb->add_option("--to", options->to, "Control-plane node of the cluster, if no cluster file is given")
      ->option_text("HOST");
  verb->add_option("--role", options->role,
                   "Role of the new nodes, if no cluster file is given (default worker)")
      ->check(CLI::IsMember({"worker", "control-plane"}))
      ->option_text("worker|control-plane");
  add_bring_up(*verb, options->init, global);
}

void add_remove(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("remove", "Drain and remove nodes, and restore the hosts");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::RemoveOptions& of) -> commands::Common& { return of.common; },
      commands::remove);
  add_hosts(*verb, options->hosts, "");
  add_connection(*verb, options->common.connection);
  verb->add_option("--to", options->to, "Remaining control-plane node, if no cluster file is given")
      ->option_text("HOST");
  verb->add_flag("--force", options->force,
                 "Also remove unreachable hosts, workloads that run or cannot be read, and pods without a "
                 "controller, and restore what was changed by others since");
  verb->add_option("--drain-timeout", options->drain_timeout, "Time limit for draining a node (default 300)")
      ->check(CLI::Range(1, 3600))
      ->option_text("SECONDS");
  verb->add_flag("--keep-images", options->keep_images, "Keep the cluster's container images");
  verb->add_flag("--keep-driver", options->keep_driver, "Keep the NVIDIA driver that gpuadm installed");
  add_consent(*verb, options->consent, global);
  add_format(*verb, options->format);
}

void add_adopt(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("adopt", "Generate a cluster file from an existing cluster");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::AdoptOptions& of) -> commands::Common& { return of.common; },
      commands::adopt);
  add_hosts(*verb, options->hosts);
  add_connection(*verb, options->common.connection);
  verb->add_option("-o,--output", options->output, "File to create; must not exist (default: print)")
      ->option_text("FILE");
  verb->add_option("--bundle", options->bundle, "Bundle that the cluster was installed from, to report drift")
      ->option_text("DIR");
  auto* record =
      verb->add_flag("--record", options->record,
                     "Also store it on the control plane, for gpuadm join --to; gpuadm undo reverts this");
  add_consent(*verb, options->consent, global);
  for (const char* name : {"--dry-run", "--yes", "--diff"}) verb->get_option(name)->needs(record);
}

}  // namespace

void add_cluster(CLI::App& root, Global& global, Verb& chosen) {
  add_apply(root, global, chosen);
  add_diff(root, global, chosen);
  add_join(root, global, chosen);
  add_remove(root, global, chosen);
  add_adopt(root, global, chosen);
}

}  // namespace commands
