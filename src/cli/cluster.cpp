#include "cli/cluster.hpp"

#include "gpuadm/app/cluster.hpp"

#include "cli/options.hpp"

namespace cli {

namespace {

void add_apply(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("apply", "Bring all hosts of a cluster file to what it says");
  const auto options = add_verb(
      *verb, global, chosen, [](app::InitOptions& of) -> app::Common& { return of.common; }, app::apply);
  add_hosts(*verb, options->hosts);
  add_connection(*verb, options->common.connection);
  add_raising(*verb, *options);
}

void add_diff(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("diff", "Say where hosts are not what the cluster file says: exit 1");
  const auto options = add_verb(
      *verb, global, chosen, [](app::InitOptions& of) -> app::Common& { return of.common; }, app::diff);
  add_hosts(*verb, options->hosts);
  add_connection(*verb, options->common.connection);
  add_bundle_source(*verb, options->bundle, options->bundle_signers);
  add_format(*verb, options->format);
}

void add_join(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("join", "Make hosts nodes of a cluster that runs");
  const auto options = add_verb(
      *verb, global, chosen, [](app::JoinOptions& of) -> app::Common& { return of.init.common; }, app::join);
  add_hosts(*verb, options->init.hosts);
  add_connection(*verb, options->init.common.connection);
  verb->add_option("--to", options->to, "A control plane of the cluster, where no file is named")
      ->option_text("HOST");
  verb->add_option("--role", options->role, "What they become, where no file says it (worker)")
      ->check(CLI::IsMember({"worker", "control-plane"}))
      ->option_text("worker|control-plane");
  add_raising(*verb, options->init);
}

void add_remove(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand(
      "remove", "Take hosts out of their cluster, which goes on, and give them back as they were");
  const auto options = add_verb(
      *verb, global, chosen, [](app::RemoveOptions& of) -> app::Common& { return of.common; }, app::remove);
  add_hosts(*verb, options->hosts);
  add_connection(*verb, options->common.connection);
  verb->add_option("--to", options->to, "A control plane that stays, where no file is named")
      ->option_text("HOST");
  verb->add_flag(
      "--force", options->force,
      "Also hosts that cannot be reached, pods that nobody starts again elsewhere, and what somebody "
      "else has changed since");
  verb->add_option("--drain-timeout", options->drain_timeout, "How long a node's pods may take to go (300)")
      ->check(CLI::Range(1, 3600))
      ->option_text("SECONDS");
  verb->add_flag("--keep-images", options->keep_images, "Images of the cluster stay");
  verb->add_flag("--keep-driver", options->keep_driver, "The NVIDIA driver that gpuadm installed stays");
  add_consent(*verb, options->consent);
  add_format(*verb, options->format);
}

void add_adopt(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb =
      root.add_subcommand("adopt", "Write the cluster file that would have made a cluster that is there");
  const auto options = add_verb(
      *verb, global, chosen, [](app::AdoptOptions& of) -> app::Common& { return of.common; }, app::adopt);
  add_hosts(*verb, options->hosts);
  add_connection(*verb, options->common.connection);
  verb->add_option("-o,--output", options->output, "The file, which is not there yet; without it: printed")
      ->option_text("FILE");
  verb->add_option("--bundle", options->bundle, "What its Kubernetes came from, to list drift by")
      ->option_text("DIR");
  auto* record =
      verb->add_flag("--record", options->record,
                     "Keep it on the control plane, too, for gpuadm join --to; gpuadm undo takes it back");
  add_consent(*verb, options->consent);
  for (const char* name : {"--dry-run", "--yes"}) verb->get_option(name)->needs(record);
}

}  // namespace

void add_cluster(CLI::App& root, Global& global, Verb& chosen) {
  add_apply(root, global, chosen);
  add_diff(root, global, chosen);
  add_join(root, global, chosen);
  add_remove(root, global, chosen);
  add_adopt(root, global, chosen);
}

}  // namespace cli
