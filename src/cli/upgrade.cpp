#include "cli/upgrade.hpp"

#include "gpuadm/app/upgrade.hpp"

#include "cli/connection.hpp"

#include <memory>

namespace cli {

void add_upgrade(CLI::App& root, Global& global, Verb& chosen) {
  auto* verb = root.add_subcommand("upgrade", "Bring a cluster to a newer Kubernetes, node by node");
  const auto options = std::make_shared<app::UpgradeOptions>();
  add_hosts(*verb, options->hosts);
  verb->add_option("--kubernetes-version", options->kubernetes_version,
                   "For example 1.36.4; one minor at a time")
      ->option_text("VERSION");
  verb->add_option("--bundle", options->bundle, "Install from this folder and nothing else")
      ->option_text("DIR");
  verb->add_option("--max-unavailable", options->max_unavailable, "How many workers at the same time (1)")
      ->check(CLI::Range(1, 100))
      ->option_text("NUMBER");
  verb->add_option("--drain-timeout", options->drain_timeout,
                   "How long the pods of a node may take to leave it (300)")
      ->check(CLI::Range(1, 7200))
      ->option_text("SECONDS");
  auto* dry_run = verb->add_flag_callback(
      "--dry-run", [options] { options->consent = app::Consent::preview; },
      "Show what would change, in which order, and change nothing");
  verb->add_flag_callback(
          "-y,--yes", [options] { options->consent = app::Consent::given; }, "Do not ask")
      ->excludes(dry_run);
  verb->add_option_function<std::string>(
          "-o,--output",
          [options](const std::string& name) {
            options->format = name == "json" ? app::Format::json : app::Format::text;
          },
          "The form of the result")
      ->option_text("json|text")
      ->check(CLI::IsMember({"json", "text"}));
  add_connection(*verb, options->common.connection);
  verb->fallthrough();
  verb->final_callback([options, &global, &chosen] {
    chosen = [options, &global](app::Io& io) {
      options->common.assets = global.assets;
      return app::upgrade(*options, io);
    };
  });
}

}  // namespace cli
