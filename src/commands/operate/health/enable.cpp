#include "commands/operate/health/enable.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/operate/health/health_options.hpp"
#include "commands/operate/health/node_api.hpp"
#include "commands/operate/health/program.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace commands {

namespace {

using base::Fault;

std::string_view place_name(MetricsPlace place) {
  return std::ranges::find(metrics_places, place, [](const auto& row) { return row.second; })->first;
}

std::unexpected<base::Error> not_understood(std::string_view word) {
  return base::fail(
      Fault::parse,
      fmt::format("the health checks of the cluster have a setting that this gpuadm does not know: {}",
                  base::printable(word, 80)),
      "run gpuadm health enable for all hosts");
}

std::optional<int> number_in_range(std::string_view text, int least, int most) {
  const auto number = base::to_int(text);
  return number && *number >= least && *number <= most ? std::optional(static_cast<int>(*number))
                                                       : std::nullopt;
}

/// "--node NAME --taint blocker --max-tainted 25 --skip a,b"; the name is the host's own.
Result<> read_run(std::span<const std::string_view> words, HealthSettings& options) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string_view name = words[i], value = words[i + 1];
    const auto policy = cluster::taint_policy_named(value);
    const auto percent = number_in_range(value, 0, 100);
    if (name == "--taint" && policy)
      options.taint = *policy;
    else if (name == "--max-tainted" && percent)
      options.max_tainted = *percent;
    else if (name == "--skip")
      for (const std::string_view id : base::split(value, ',')) options.skip.emplace_back(id);
    else if (name != "--node")
      return not_understood(name);
  }
  return words.size() % 2 == 0 ? Result<>() : not_understood(words.back());
}

/// "--listen node --address ADDRESS --node NAME --port 9440"
Result<> read_serve(std::span<const std::string_view> words, HealthSettings& options) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string_view name = words[i], value = words[i + 1];
    const auto* place = std::ranges::find(metrics_places, value, [](const auto& row) { return row.first; });
    const auto port = number_in_range(value, 1, 65535);
    if (name == "--listen" && place != std::end(metrics_places))
      options.metrics = place->second;
    else if (name == "--port" && port)
      options.port = *port;
    else if (name != "--node" && name != "--address")
      return not_understood(name);
  }
  return words.size() % 2 == 0 ? Result<>() : not_understood(words.back());
}

/// The policy was changed to off: taints that an earlier policy has set are removed.
Result<> remove_taints(const spec::Cluster& cluster, const std::map<std::string, std::string>& nodes,
                       const session::RunContext& session, const assets::Store& assets) {
  const auto client = session::ClusterClient::open(cluster, *session.fleet, assets);
  if (!client && client.error().fault == Fault::usage)
    return {};  // a worker alone: no control plane is named
  if (!client) return std::unexpected(client.error());
  NodeApi api(client->host(), {}, *session.fleet, assets);
  return withdraw(api, nodes, Withdrawn::taints);
}

/// What the units of a host's health checks say, for read_settings.
Result<std::string> read_units(const std::string& host, transport::Fleet& fleet,
                               const assets::Store& assets) {
  const transport::Exit exit = TRY(session::ask(host,
                                                {.label = "read the settings of the health checks",
                                                 .asset = "playbooks/read/health.sh",
                                                 .variables = {{"what", "settings"}}},
                                                fleet, assets));
  return exit.out;
}

/// The settings of the first host of the cluster that has health checks; the defaults if none has.
Result<HealthSettings> current_settings(const spec::Cluster& cluster, const facts::Census& census,
                                        transport::Fleet& fleet, const assets::Store& assets) {
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = census.at(host.name);
    if (!facts || !facts->software.units.contains(health_timer)) continue;
    const std::string output = TRY(read_units(host.name, fleet, assets));
    if (!output.starts_with("run ")) continue;  // an enable was interrupted before it wrote the service
    auto settings = read_settings(output);
    if (!settings)
      settings.error().hint = "use the gpuadm that enabled them, or first: gpuadm health disable";
    return settings;
  }
  return HealthSettings();
}

/// Where taints are set: what to add to a command whose hosts do not include it; empty: nothing.
std::string note_on_taints(const spec::Cluster& cluster, const std::map<std::string, std::string>& nodes,
                           const session::RunContext& session, const assets::Store& assets) {
  std::string name;
  if (const auto client = session::ClusterClient::open(cluster, *session.fleet, assets))
    if (const auto all = NodeApi(client->host(), {}, *session.fleet, assets).nodes())
      name = cluster::node_that_sets_taints(*all);
  if (std::ranges::any_of(nodes, [&](const auto& one) { return one.second == name; })) return {};
  return fmt::format(
      "the first control-plane node {}sets the taints of all nodes: enable --taint on it, too\n",
      name.empty() ? "" : fmt::format("({}) ", name));
}

}  // namespace

Result<> check_settings(const HealthSettings& options) {
  TRY(session::known_ids(options.skip));
  if (options.taint == cluster::TaintPolicy::off || options.max_tainted > 0) return {};
  return base::fail(Fault::usage, "--max-tainted 0 taints no node", "use --taint off");
}

base::Variables variables_of(const HealthSettings& options) {
  std::string words =
      fmt::format("--taint {} --max-tainted {}", cluster::name_of(options.taint), options.max_tainted);
  // Known IDs are letters, digits, dots and hyphens.
  if (!options.skip.empty()) words += " --skip " + base::join(options.skip, ",");
  return {{"health_interval", std::to_string(options.interval)},
          {"health_options", words},
          {"metrics_place", std::string(place_name(options.metrics))},
          {"metrics_port", std::to_string(options.port)}};
}

HealthSettings with_given(HealthSettings current, const HealthEnableOptions& options) {
  current.taint = options.taint.value_or(current.taint);
  current.interval = options.interval.value_or(current.interval);
  current.max_tainted = options.max_tainted.value_or(current.max_tainted);
  current.port = options.port.value_or(current.port);
  current.skip = options.skip.value_or(current.skip);
  current.metrics = options.metrics.value_or(current.metrics);
  std::erase(current.skip, "");  // --skip '': all checks again
  return current;
}

Result<HealthSettings> read_settings(const std::string& host, transport::Fleet& fleet,
                                     const assets::Store& assets) {
  return read_settings(TRY(read_units(host, fleet, assets)));
}

Result<HealthSettings> read_settings(std::string_view output) {
  HealthSettings options;
  bool enabled = false;
  for (const std::string_view line : base::lines(output)) {
    const auto words = base::words(line);
    if (words.empty()) continue;
    const auto rest = std::span(words).subspan(1);
    if (words[0] == "run") {
      TRY(read_run(rest, options));
      enabled = true;
    } else if (words[0] == "serve") {
      TRY(read_serve(rest, options));
    } else if (words[0] == "every") {
      const auto seconds = words.size() == 2 ? number_in_range(words[1], 1, 86400) : std::nullopt;
      if (!seconds) return not_understood(line);
      options.interval = *seconds;
    }
  }
  if (!enabled) return not_understood("no gpuadm-health.service");
  TRY(check_settings(options));
  return options;
}

namespace {

/// Installs this program and a systemd timer on every host, which must be a node. Journaled.
Result<Outcome> health_enable(const HealthEnableOptions& options, Io& io) {
  TRY(check_settings(with_given({}, options)));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto library = TRY(playbook::Library::load(assets, "health-enable"));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  const auto nodes = TRY(nodes_by_host(cluster, survey.census, library));
  HealthSettings settings = TRY(current_settings(cluster, survey.census, *session.fleet, assets));
  settings = with_given(std::move(settings), options);
  TRY(check_settings(settings));
  const bundle::Bundle program = TRY(own_program());
  session::PlaybookRun run{.cluster = cluster, .assets = assets, .library = library};
  run.consent = options.consent;
  run.choice.carried = &program;
  run.choice.given = variables_of(settings);
  run.choice.skip_phases = {settings.metrics == MetricsPlace::off ? "health/metrics" : "health/no-metrics"};
  const Outcome outcome = TRY(session::run_and_report(run, survey, session, options.format, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  if (settings.taint == cluster::TaintPolicy::off)
    TRY(remove_taints(cluster, nodes, session, assets));
  else
    io.err(note_on_taints(cluster, nodes, session, assets));
  if (options.format == Format::text)
    io.out("next: gpuadm health status" + session::typed(options.hosts, options.common.connection) + "\n");
  return outcome;
}

}  // namespace

Command health_enable_command() {
  return CommandRow<HealthEnableOptions>{
      .name = "health enable",
      .group = Group::operate,
      .summary =
          "Install a timer on every node that checks it and sets conditions of its Node object; "
          "settings that are not given stay",
      .options =
          [](Line& line, HealthEnableOptions& options) {
            add_hosts(line, options.hosts);
            line.value("--interval", options.interval, "SECONDS", "Seconds between two runs (default 30)")
                .range(10, 3600);
            add_taint(line, options.taint, options.max_tainted, options.skip);
            line.choice<std::optional<MetricsPlace>, MetricsPlace>(
                "--metrics", options.metrics,
                {{"off", MetricsPlace::off},
                 {"loopback", MetricsPlace::loopback},
                 {"node", MetricsPlace::node}},
                "Serve metrics for Prometheus: over HTTP on 127.0.0.1, over TLS on the node's address, or "
                "not (default off)");
            add_metrics_port(line, "--metrics-port", options.port);
            add_consent(line, options.consent);
            add_format(line, options.format);
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm health enable -f cluster.yaml", "conditions and Events, no taint"},
                   {"gpuadm health enable -f cluster.yaml --taint blocker --max-tainted 10",
                    "nodes with a blocker get no new pods"}},
      .run = health_enable};
}

}  // namespace commands
