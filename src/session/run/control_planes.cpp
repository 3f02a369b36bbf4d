#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

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

/// The cluster of the command line, with the lost hosts at its end, or of the file, which must have them.
Result<spec::Cluster> with_lost(const ControlPlaneRequest& asked) {
  Hosts hosts = asked.hosts;
  for (const std::string& host : asked.lost)
    if (std::ranges::find(hosts.targets, host) != hosts.targets.end())
      return base::fail(Fault::usage,
                        fmt::format("{} is given as a host and as lost", base::printable(host)));
  if (asked.lost.empty() || (hosts.targets.empty() && !hosts.file.empty()))
    return read_cluster(hosts, asked.common.connection);
  if (hosts.targets.empty()) hosts.targets.emplace_back();  // the local machine
  hosts.targets.insert(hosts.targets.end(), asked.lost.begin(), asked.lost.end());
  return read_cluster(hosts, asked.common.connection);
}

/// Removes the hosts of `lost` from the cluster.
Result<std::vector<spec::Host>> take_lost(const ControlPlaneRequest& asked, spec::Cluster& cluster) {
  std::vector<spec::Host> lost;
  for (const std::string& target : asked.lost) {
    const std::string name = asked.hosts.file.empty() ? TRY(spec::single(target)).hosts.front().name : target;
    const auto host = std::ranges::find(cluster.hosts, name, &spec::Host::name);
    if (host == cluster.hosts.end())
      return base::fail(Fault::usage, fmt::format("{} has no host named {}", asked.hosts.file.string(),
                                                  base::printable(name)));
    lost.push_back(*host);
    cluster.hosts.erase(host);
  }
  return lost;
}

/// Removes the hosts that did not answer, which are not needed then.
void exclude_absent(spec::Cluster& cluster, Survey& survey, const RunContext& session,
                    const std::vector<spec::Host>& lost, Io& io) {
  for (const spec::Host& host : lost) {
    session.fleet->remove(host.name);
    survey.census.erase(host.name);
  }
  for (const spec::Host& host : cluster.hosts) {
    const auto& facts = survey.census.at(host.name);
    if (facts) continue;
    io.err(fmt::format("note: {}; it is left out, because only control-plane nodes are needed\n",
                       base::printable(facts.error().what, 300)));
    session.fleet->remove(host.name);
    survey.census.erase(host.name);
  }
  std::erase_if(cluster.hosts, [&](const spec::Host& host) { return !survey.census.contains(host.name); });
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
  plan::Plan first = TRY(vital(context.survey.census));
  return execute({context.assets, std::move(first), how.hosts, how.consent, again}, context.session, reporter,
                 io);
}

}  // namespace

Result<> are_lost(const std::vector<spec::Host>& lost, const facts::Census& census) {
  for (const spec::Host& host : lost) {
    const auto& facts = census.at(host.name);
    const std::string name = base::printable(host.name);
    if (facts && facts->kubernetes.admin_conf)
      return base::fail(
          Fault::blocked, fmt::format("{} is not lost: it answers, and is a control-plane node", name),
          "run again without --lost: its data is restored, too; or on it: gpuadm reset --force");
    if (!facts && facts.error().fault != Fault::unreachable)
      return base::fail(
          Fault::blocked, fmt::format("{} may not be lost: {}", name, facts.error().what),
          "a control-plane node that runs would form a second cluster: fix this, or shut it down");
  }
  return {};
}

Result<Outcome> on_control_planes(const ControlPlaneRequest& asked, std::string_view playbook, Io& io,
                                  const std::function<Result<Outcome>(const ControlPlaneContext&)>& act) {
  const assets::Store assets = TRY(assets::Store::open(asked.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, playbook));
  const spec::Cluster named = TRY(with_lost(asked));
  spec::Cluster needed = named;
  const std::vector<spec::Host> lost = TRY(take_lost(asked, needed));
  const RunContext session = TRY(RunContext::open(named, asked.common.connection, asked.consent, io));
  Survey survey = TRY(session.survey_all(assets, [&](const std::string& name) {
    const auto host = std::ranges::find(needed.hosts, name, &spec::Host::name);
    return host != needed.hosts.end() &&
           (host->role == spec::Role::control_plane || asked.absent_workers == AbsentWorkers::refused);
  }));
  TRY(are_lost(lost, survey.census));
  exclude_absent(needed, survey, session, lost, io);
  const spec::Cluster cluster = as_found(needed, survey.census);
  TRY(has_control_plane(cluster, survey.census));
  std::vector<std::string> hosts;
  for (const spec::Host& host : cluster.hosts)
    if (host.role == spec::Role::control_plane) hosts.push_back(host.name);
  return act({assets, library, cluster, survey, session, hosts, lost});
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
