#include "commands/cli/verbs/upgrade.hpp"

#include "commands/cli/options.hpp"
#include "commands/install/upgrade.hpp"

namespace commands {

void add_upgrade(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand(
      "upgrade",
      "Upgrade Kubernetes, or container runtime, NVIDIA Container Toolkit and driver, node by node");
  const auto options = add_verb<commands::UpgradeOptions>(
      *verb, global, chosen, [](commands::UpgradeOptions& o) -> commands::Common& { return o.common; },
      commands::upgrade);
  add_hosts(*verb, options->hosts);
  verb->add_option("--kubernetes-version", options->kubernetes_version,
                   "Kubernetes version, for example 1.36.4; one minor version at a time")
      ->option_text("VERSION");
  add_bundle_source(*verb, options->bundle, options->bundle_signers);
  const auto part = [&](const std::string& name, std::string& version, const char* says, const char* text) {
    verb->add_flag(name + "{newest}", version, says)->option_text(text);
  };
  part("--runtime", options->runtime, "Upgrade the container runtime instead of Kubernetes (default: latest)",
       "[=VERSION]");
  part("--toolkit", options->toolkit, "Upgrade the NVIDIA Container Toolkit instead (default: latest)",
       "[=VERSION]");
  part("--driver", options->driver,
       "Upgrade the NVIDIA driver instead (default: branch recommended for the GPUs)", "[=BRANCH]");
  verb->add_option("--max-unavailable", options->max_unavailable,
                   "Number of workers upgraded at the same time (default 1)")
      ->check(CLI::Range(1, 100))
      ->option_text("NUMBER");
  verb->add_option("--drain-timeout", options->drain_timeout, "Time limit for draining a node (default 300)")
      ->check(CLI::Range(1, 7200))
      ->option_text("SECONDS");
  add_consent(*verb, options->consent, global);
  add_reboots(*verb, options->reboots);
  add_waiting(*verb, options->waiting);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

}  // namespace commands
