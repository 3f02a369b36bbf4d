#include "cli/upgrade.hpp"

#include "gpuadm/app/upgrade.hpp"

#include "cli/options.hpp"

namespace cli {

void add_upgrade(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand(
      "upgrade",
      "Bring a cluster to a newer Kubernetes, or container runtime, toolkit and driver, node by node");
  const auto options = add_verb<app::UpgradeOptions>(
      *verb, global, chosen, [](app::UpgradeOptions& o) -> app::Common& { return o.common; }, app::upgrade);
  add_hosts(*verb, options->hosts);
  verb->add_option("--kubernetes-version", options->kubernetes_version,
                   "For example 1.36.4; one minor at a time")
      ->option_text("VERSION");
  add_bundle_source(*verb, options->bundle, options->bundle_signers);
  const auto part = [&](const std::string& name, std::string& wish, const char* says, const char* text) {
    verb->add_flag(name + "{newest}", wish, says)->option_text(text);
  };
  part("--runtime", options->runtime, "Not Kubernetes, but the container runtime: the newest that there is",
       "[=VERSION]");
  part("--toolkit", options->toolkit, "The same for the NVIDIA Container Toolkit", "[=VERSION]");
  part("--driver", options->driver, "The same for the NVIDIA driver, of the GPUs' branch or this one",
       "[=BRANCH]");
  verb->add_option("--max-unavailable", options->max_unavailable, "How many workers at the same time (1)")
      ->check(CLI::Range(1, 100))
      ->option_text("NUMBER");
  verb->add_option("--drain-timeout", options->drain_timeout,
                   "How long the pods of a node may take to leave it (300)")
      ->check(CLI::Range(1, 7200))
      ->option_text("SECONDS");
  add_consent(*verb, options->consent);
  add_reboots(*verb, options->reboots);
  add_waiting(*verb, options->waiting);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

}  // namespace cli
