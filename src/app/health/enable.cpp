#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster_client.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/run_playbook.hpp"
#include "gpuadm/session/typed.hpp"

#include "app/health/node_api.hpp"
#include "app/health/program.hpp"

#include <fmt/format.h>

namespace app {

namespace {

using base::Fault;

Result<> check(const HealthEnableOptions& options) {
  TRY(session::known_ids(options.skip));
  if (options.taint == cluster::TaintPolicy::off || options.max_tainted > 0) return {};
  return base::fail(Fault::usage, "--max-tainted 0 taints no node", "use --taint off");
}

base::Variables variables_of(const HealthEnableOptions& options) {
  std::string words =
      fmt::format("--taint {} --max-tainted {}", cluster::name_of(options.taint), options.max_tainted);
  // Known IDs are letters, digits, dots and hyphens.
  if (!options.skip.empty()) words += " --skip " + base::join(options.skip, ",");
  return {{"health_interval", std::to_string(options.interval)}, {"health_options", words}};
}

/// The policy was changed to off: taints that an earlier policy has set are removed.
Result<> remove_taints(const spec::Cluster& cluster, const std::map<std::string, std::string>& nodes,
                       const session::Session& session, const assets::Store& assets) {
  const auto client = session::ClusterClient::open(cluster, *session.fleet, assets);
  if (!client && client.error().fault == Fault::usage)
    return {};  // a worker alone: no control plane is named
  if (!client) return std::unexpected(client.error());
  NodeApi api(client->host(), {}, *session.fleet, assets);
  return withdraw(api, nodes, Withdrawn::taints);
}

}  // namespace

Result<Outcome> health_enable(const HealthEnableOptions& options, Io& io) {
  TRY(check(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto library = TRY(playbook::Library::load(assets, "health-enable"));
  const session::Session session =
      TRY(session::Session::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  const auto nodes = TRY(nodes_by_host(cluster, survey.census, library));
  const bundle::Bundle program = TRY(own_program());
  session::PlaybookRun run{.cluster = cluster, .assets = assets, .library = library};
  run.consent = options.consent;
  run.choice.given = variables_of(options);
  run.choice.carried = &program;
  const Outcome outcome = TRY(session::run_and_report(run, survey, session, options.format, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  if (options.taint == cluster::TaintPolicy::off) TRY(remove_taints(cluster, nodes, session, assets));
  if (options.format == Format::text)
    io.out("next: gpuadm health status" + session::typed(options.hosts, options.common.connection) + "\n");
  return outcome;
}

}  // namespace app
