#include "gpuadm/base/text.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/operate/health/node_api.hpp"
#include "commands/operate/health/program.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct HealthDisableOptions {
  Common common;
  Hosts hosts;
  Consent consent = Consent::ask;
  Format format = Format::text;
};

/// Conditions and taints are removed last: a service that runs would set them again.
Result<> withdraw_all(const HealthDisableOptions& options, const spec::Cluster& cluster,
                      const std::map<std::string, std::string>& nodes, const session::RunContext& session,
                      const assets::Store& assets) {
  auto done = [&]() -> Result<> {
    const auto client = TRY(session::ClusterClient::open(cluster, *session.fleet, assets));
    NodeApi api(client.host(), {}, *session.fleet, assets);
    return withdraw(api, nodes, Withdrawn::everything);
  }();
  if (done || done.error().fault == base::Fault::interrupted) return done;
  std::vector<std::string> names;
  for (const auto& [host, node] : nodes) names.push_back(node);
  return base::fail(done.error().fault,
                    fmt::format("the timers are removed, but not the conditions and taints of {}: {}",
                                base::join(names, ", "), done.error().what),
                    "when the API server answers, run gpuadm health disable" +
                        session::typed(options.hosts, options.common.connection) + " again");
}

/// Removes the timer, the program and the history from every host, and the conditions and taints from their
/// nodes.
Result<Outcome> health_disable(const HealthDisableOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto library = TRY(playbook::Library::load(assets, "health-disable"));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  const auto nodes = TRY(nodes_by_host(cluster, survey.census, library));
  session::PlaybookRun run{.cluster = cluster, .assets = assets, .library = library};
  run.consent = options.consent;
  const Outcome outcome = TRY(session::run_and_report(run, survey, session, options.format, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  TRY(withdraw_all(options, cluster, nodes, session, assets));
  return outcome;
}

}  // namespace

Command health_disable_command() {
  return CommandRow<HealthDisableOptions>{
      .name = "health disable",
      .group = Group::operate,
      .summary = "Remove the timer, the program, the history, conditions and taints from every node",
      .options = add_change<HealthDisableOptions>,
      .examples = {{"gpuadm health disable -f cluster.yaml", "conditions and taints are removed, too"}},
      .run = health_disable};
}

}  // namespace commands
