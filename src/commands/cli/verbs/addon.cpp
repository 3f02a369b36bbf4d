#include "commands/cli/verbs/addon.hpp"

#include "commands/cli/options.hpp"
#include "commands/install/addon/addon.hpp"

namespace commands {

namespace {

constexpr int longest_proof = 86400;
constexpr auto common_of_addon = [](auto& of) -> commands::Common& { return of.addon.common; };

/// NAME, the hosts and the connection.
void add_addon_options(CLI::App& verb, commands::AddonOptions& options) {
  verb.add_option("NAME", options.name, "Name of the add-on (gpuadm addon list)")
      ->required()
      ->option_text(" ");
  add_hosts(verb, options.hosts);
  add_connection(verb, options.common.connection);
}

void add_patience(CLI::App& verb, std::chrono::seconds& patience, const char* says) {
  verb.add_option_function<int>(
          "--wait-timeout", [&patience](int seconds) { patience = std::chrono::seconds(seconds); }, says)
      ->check(CLI::Range(1, longest_proof))
      ->option_text("SECONDS");
}

void add_addon_reading(CLI::App& group, Global& global, Verb& chosen) {
  auto* list = group.add_subcommand("list", "List add-ons with their state in the cluster");
  const auto listed =
      add_verb<commands::AddonListOptions>(*list, global, chosen, common_of, commands::addon_list);
  add_hosts(*list, listed->hosts);
  add_format(*list, listed->format);
  add_connection(*list, listed->common.connection);
  auto* show = group.add_subcommand("show", "Show an add-on: its settings, images, proof and data");
  const auto shown =
      add_verb<commands::AddonShowOptions>(*show, global, chosen, common_of, commands::addon_show);
  show->add_option("NAME", shown->name, "Name of the add-on")->required()->option_text(" ");
  add_format(*show, shown->format);
}

void add_addon_enable(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("enable", "Install an add-on, and prove that it works");
  const auto options =
      add_verb<commands::AddonEnableOptions>(*verb, global, chosen, common_of_addon, commands::addon_enable);
  add_addon_options(*verb, options->addon);
  verb->add_option("--set", options->settings, "A setting of the add-on (gpuadm addon show NAME); repeatable")
      ->allow_extra_args(false)
      ->option_text("SETTING=VALUE");
  add_patience(*verb, options->patience,
               "Time limit until its pods are ready, and of its proof (default 900)");
  verb->add_flag("--keep", options->keep, "Keep an add-on whose proof fails");
  add_yes(*verb, options->consent);
  verb->add_option_function<std::string>(
          "-o,--output", [options](const std::string& name) { options->yaml = name == "yaml"; },
          "yaml: print the objects instead of applying them")
      ->check(CLI::IsMember({"text", "yaml"}))
      ->option_text("text|yaml");
}

}  // namespace

void add_addon(CLI::App& root, Global& global, Verb& chosen) {
  auto* group = root.add_subcommand("addon", "Install add-ons such as Prometheus and JupyterHub, each proven")
                    ->require_subcommand(0, 1)
                    ->fallthrough();
  add_addon_reading(*group, global, chosen);
  add_addon_enable(*group, global, chosen);
  auto* verify = group->add_subcommand("verify", "Repeat the proof of an add-on that is enabled");
  const auto verified = add_verb<commands::AddonVerifyOptions>(*verify, global, chosen, common_of_addon,
                                                               commands::addon_verify);
  add_addon_options(*verify, verified->addon);
  add_patience(*verify, verified->patience, "Time limit of the proof (default 300)");
  auto* disable = group->add_subcommand("disable", "Delete what enable made; data on a storage stays");
  const auto disabled = add_verb<commands::AddonDisableOptions>(*disable, global, chosen, common_of_addon,
                                                                commands::addon_disable);
  add_addon_options(*disable, disabled->addon);
  add_preview(*disable, disabled->consent);
  disable->add_flag("--force", disabled->force, "Also end the notebooks of users of JupyterHub");
}

}  // namespace commands
