#include "commands/cli/verbs/health.hpp"

#include "commands/cli/options.hpp"
#include "commands/operate/health/health.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace commands {

namespace {

constexpr int least_interval = 10, most_interval = 3600, most_percent = 100, least_port = 1024,
              most_port = 65535;

/// Into the settings themselves, or into optional ones.
template <class Policy, class Percent, class Skip>
void add_taint(CLI::App& verb, Policy& policy, Percent& max_tainted, Skip& skip) {
  verb.add_option("--skip", skip, "Skip these checks; a prefix such as nct selects a group")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("ID,...");
  verb.add_option_function<std::string>(
          "--taint",
          [&policy](const std::string& name) {
            policy = commands::taint_policy_named(name).value_or(commands::TaintPolicy::off);
          },
          "Taint nodes, so that they get no new pods: with a blocker, with a warning, too, or never (default "
          "off)")
      ->option_text("off|blocker|warning")
      ->check(CLI::IsMember({"off", "blocker", "warning"}));
  verb.add_option("--max-tainted", max_tainted,
                  "Most nodes that are tainted at a time, in percent of those with GPUs; one always may be "
                  "(default 25)")
      ->option_text("PERCENT")
      ->check(CLI::Range(0, most_percent));
}

template <class Port>
void add_port(CLI::App& verb, const char* name, Port& port) {
  verb.add_option(name, port, fmt::format("TCP port of the metrics (default {})", commands::metrics_port))
      ->option_text("PORT")
      ->check(CLI::Range(least_port, most_port));
}

template <class Place>
CLI::Option* add_place(CLI::App& verb, const char* name, Place& place, const char* says) {
  return verb.add_option_function<std::string>(
      name,
      [&place](const std::string& text) {
        for (const auto& [word, one] : commands::metrics_places)
          if (text == word) place = one;
      },
      says);
}

void add_metrics(CLI::App& verb, std::optional<commands::MetricsPlace>& metrics, std::optional<int>& port) {
  add_place(verb, "--metrics", metrics,
            "Serve metrics for Prometheus: over HTTP on 127.0.0.1, over TLS on the node's address, or not "
            "(default off)")
      ->option_text("off|loopback|node")
      ->check(CLI::IsMember({"off", "loopback", "node"}));
  add_port(verb, "--metrics-port", port);
}

void add_health_enable(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "enable",
      "Install a timer on every node that checks it and sets conditions of its Node object; settings "
      "that are not given stay");
  const auto options =
      add_verb<commands::HealthEnableOptions>(*verb, global, chosen, common_of, commands::health_enable);
  add_hosts(*verb, options->hosts);
  verb->add_option("--interval", options->interval, "Seconds between two runs (default 30)")
      ->option_text("SECONDS")
      ->check(CLI::Range(least_interval, most_interval));
  add_taint(*verb, options->taint, options->max_tainted, options->skip);
  add_metrics(*verb, options->metrics, options->port);
  add_consent(*verb, options->consent, global);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_health_reader(CLI::App& group, Global& global, Verb& chosen, const char* name, const char* says,
                       base::Result<commands::Outcome> (*does)(const commands::HealthOptions&, commands::Io&),
                       const Formats& formats) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = add_verb<commands::HealthOptions>(*verb, global, chosen, common_of, does);
  add_hosts(*verb, options->hosts);
  add_format(*verb, options->format, formats);
  add_connection(*verb, options->common.connection);
}

void add_health_disable(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "disable", "Remove the timer, the program, the history, conditions and taints from every node");
  const auto options =
      add_verb<commands::HealthDisableOptions>(*verb, global, chosen, common_of, commands::health_disable);
  add_hosts(*verb, options->hosts);
  add_consent(*verb, options->consent, global);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_health_run(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("run", "Check this node once, as the timer does; needs root");
  const auto options =
      add_verb<commands::HealthRunOptions>(*verb, global, chosen, common_of, commands::health_run);
  verb->add_option("--node", options->node, "Name of this machine's Node object")
      ->required()
      ->option_text("NAME");
  add_taint(*verb, options->taint, options->max_tainted, options->skip);
}

void add_health_serve(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "serve", "Serve the metrics of this node's last run under /metrics, until SIGTERM");
  const auto options =
      add_verb<commands::HealthServeOptions>(*verb, global, chosen, common_of, commands::health_serve);
  add_place(*verb, "--listen", options->listen,
            "Over HTTP on 127.0.0.1, or over TLS on --address (default loopback)")
      ->option_text("loopback|node")
      ->check(CLI::IsMember({"loopback", "node"}));
  verb->add_option("--address", options->address, "Address of this machine")->option_text("ADDRESS");
  verb->add_option("--node", options->node, "Name of this machine's Node object, for the certificate")
      ->option_text("NAME");
  add_port(*verb, "--port", options->port);
}

}  // namespace

void add_health(CLI::App& root, Global& global, Verb& chosen) {
  auto* group =
      root.add_subcommand("health", "Nodes that check themselves: conditions, Events, taint, history")
          ->require_subcommand(0, 1)
          ->fallthrough();
  add_health_enable(*group, global, chosen);
  add_health_reader(*group, global, chosen, "status", "Show the last run, conditions and taint of every node",
                    commands::health_status, text_or_json);
  add_health_reader(
      *group, global, chosen, "history",
      "Show what has changed on every node, and when; with -o html as a page with timelines",
      commands::health_history,
      {{"text", commands::Format::text}, {"json", commands::Format::json}, {"html", commands::Format::html}});
  add_health_disable(*group, global, chosen);
  add_health_run(*group, global, chosen);
  add_health_serve(*group, global, chosen);
}

}  // namespace commands
