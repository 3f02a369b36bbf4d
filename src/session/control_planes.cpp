#include "gpuadm/session/control_planes.hpp"

#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/ask.hpp"
#include "gpuadm/session/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Fault;

constexpr std::chrono::seconds call_timeout{60};

/// Sets the actual roles: the command line has none.
spec::Cluster as_found(spec::Cluster cluster, const facts::Census& census) {
  cluster.kubernetes = {};
  for (spec::Host& host : cluster.hosts)
    host.role = facts::is_control_plane(census, host.name) ? spec::Role::control_plane : spec::Role::worker;
  return cluster;
}

facts::Census of_hosts(const facts::Census& census, const std::vector<std::string>& hosts) {
  facts::Census some;
  for (const std::string& host : hosts) some.emplace(host, census.at(host));
  return some;
}

/// Fault::blocked if hosts have become or are no longer control-plane nodes since the survey, because the
/// command has checked others.
Result<> are_still(const ControlPlaneContext& context, const facts::Census& census,
                   const std::vector<std::string>& acting) {
  TRY(all_read(census,
               [&](const std::string& host) { return std::ranges::find(acting, host) != acting.end(); }));
  for (const spec::Host& host : context.cluster.hosts) {
    const auto& facts = census.at(host.name);
    if (facts && facts::is_control_plane(census, host.name) != (host.role == spec::Role::control_plane))
      return base::fail(Fault::blocked,
                        fmt::format("{} {} a control-plane node since the preview: another run changed it",
                                    base::printable(host.name),
                                    host.role == spec::Role::control_plane ? "is no longer" : "has become"),
                        "run the same command again");
  }
  return {};
}

using Make = std::function<Result<plan::Plan>(const facts::Census&)>;

/// The plan from `make`, rendered again from current facts once the hosts are locked.
Result<Outcome> play(const ControlPlaneContext& context, const OneByOne& how, report::Reporter& reporter,
                     Io& io, const Make& make) {
  const auto vital = [&](const facts::Census& census) -> Result<plan::Plan> {
    plan::Plan plan = TRY(make(census));
    plan.vital.insert(how.hosts.begin(), how.hosts.end());
    return plan;
  };
  const auto again = [&](const auto&) -> Result<plan::Plan> {
    const Survey fresh = TRY(take_census(*context.session.fleet, context.assets));
    TRY(are_still(context, fresh.census, how.hosts));
    return vital(fresh.census);
  };
  return execute({context.assets, TRY(vital(context.survey.census)), how.hosts, how.consent, again},
                 context.session, reporter, io);
}

}  // namespace

Result<Outcome> on_control_planes(const Asked& asked, std::string_view playbook, Io& io,
                                  const std::function<Result<Outcome>(const ControlPlaneContext&)>& act) {
  const assets::Store assets = TRY(assets::Store::open(asked.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, playbook));
  const spec::Cluster named = TRY(read_cluster(asked.hosts, asked.common.connection));
  const Session session = TRY(Session::open(named, asked.common.connection, asked.consent, io));
  const Survey survey = TRY(session.survey_all(assets));
  const spec::Cluster cluster = as_found(named, survey.census);
  TRY(has_control_plane(cluster, survey.census));
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts)
    if (host.role == spec::Role::control_plane) hosts.push_back(host.name);
  return act({assets, library, cluster, survey, session, hosts});
}

Result<std::string> call(const ControlPlaneContext& context, const std::string& host,
                         const std::string& label, const std::string& function,
                         const std::vector<std::string>& words) {
  std::string script = context.library.prelude() + "\n" + function;
  for (const std::string& word : words) script += " " + base::quote(word);
  const transport::Exit exit = TRY(
      ask(host, {.label = label, .script = script + "\n", .timeout = call_timeout}, *context.session.fleet));
  if (exit.status != 0)
    return base::fail(Fault::remote, fmt::format("{}: {}", base::printable(host), base::tail(exit.err, 3)));
  return std::string(base::trim(exit.out));
}

Result<Outcome> run_one_by_one(const ControlPlaneContext& context, const OneByOne& how,
                               report::Reporter& reporter, Io& io) {
  return play(context, how, reporter, io, [&](const facts::Census& census) -> Result<plan::Plan> {
    plan::Plan plan;
    for (const std::string& host : how.hosts) {
      plan::Plan one = TRY(
          plan::make(context.cluster, {}, of_hosts(census, {host}), context.library, how.bundle, how.choice));
      plan.playbook = one.playbook;
      plan.prelude = one.prelude;
      for (plan::Stage& stage : one.stages) plan.stages.push_back(std::move(stage));
    }
    return plan;
  });
}

Result<Outcome> run_together(const ControlPlaneContext& context, const OneByOne& how,
                             report::Reporter& reporter, Io& io) {
  return play(context, how, reporter, io, [&](const facts::Census& census) {
    return plan::make(context.cluster, {}, of_hosts(census, how.hosts), context.library, how.bundle,
                      how.choice);
  });
}

}  // namespace session
