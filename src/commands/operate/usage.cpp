#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/cluster/usage_report.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/values.hpp"

#include "commands/operate/user/user.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace commands {

namespace {

using cluster::UsageBy;

struct UsageOptions {
  Common common;
  Hosts hosts;
  std::string since = "30d";
  UsageBy by = UsageBy::user;
  Format format = Format::text;
};

constexpr std::size_t most_record = 64u << 20;  // bytes of one host
constexpr std::chrono::seconds record_timeout{120};

/// The scope without users: from the beginning of an hour, because rows are of hours.
Result<cluster::UsageScope> scope_of(const UsageOptions& options) {
  const base::Time now = base::now();
  const auto from = std::chrono::floor<std::chrono::hours>(
      now - std::chrono::seconds(TRY(spec::seconds_in("--since", options.since))));
  const auto seconds = [](base::Time time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  return cluster::UsageScope{.by = options.by, .from = seconds(from), .to = seconds(now), .users = {}};
}

/// Owners of namespaces, as `gpuadm user list` knows them; several share one: "anna, ben".
Result<std::map<std::string, std::string>> read_owners(const spec::Cluster& cluster, transport::Fleet& fleet,
                                                       const assets::Store& assets) {
  auto client = TRY(session::ClusterClient::open(cluster, fleet, assets));
  std::map<std::string, std::string> owners;
  for (const workload::UserState& user : TRY(read_users(client))) {
    std::string& owner = owners[user.ns];
    owner += (owner.empty() ? "" : ", ") + user.name;
  }
  return owners;
}

/// Without the users, the report has namespaces.
Result<> add_owners(cluster::UsageScope& scope, const spec::Cluster& cluster, transport::Fleet& fleet,
                    const assets::Store& assets, Io& io) {
  auto owners = read_owners(cluster, fleet, assets);
  if (!owners && owners.error().fault == base::Fault::interrupted) return std::unexpected(owners.error());
  if (owners)
    scope.users = std::move(*owners);
  else
    io.err("users are shown by their namespaces: " + base::printable(owners.error().what, 400) + "\n");
  return {};
}

Result<cluster::UsageReport> read_report(cluster::UsageScope scope, const spec::Cluster& cluster,
                                         transport::Fleet& fleet, const assets::Store& assets) {
  const auto from =
      base::Time(std::chrono::duration_cast<base::Time::duration>(std::chrono::duration<double>(scope.from)));
  cluster::UsageReport report(std::move(scope));
  transport::Command command =
      TRY(session::command_of({.label = "read the record of the GPUs",
                               .asset = "playbooks/read/health.sh",
                               .variables = {{"what", "usage"}, {"since", base::iso8601(from).substr(0, 13)}},
                               .timeout = record_timeout},
                              assets));
  command.output_limit = most_record;
  for (const spec::Host& host : cluster.hosts) fleet.submit(host.name, command);
  while (const auto completion = fleet.next()) {
    const auto& result = completion->result;
    if (!result)
      report.add_unreached(completion->host, result.error().what);
    else
      report.add(completion->host, cluster::read_usage(result->out));
  }
  if (fleet.interrupted())
    return base::fail(base::Fault::interrupted, "interrupted while reading the record of the GPUs");
  return report;
}

/// Prints GPU hours and energy from the records of the nodes. Outcome::failed if hours of a host are missing.
/// Changes nothing.
Result<Outcome> usage(const UsageOptions& options, Io& io) {
  cluster::UsageScope scope = TRY(scope_of(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  if (options.by == UsageBy::user) TRY(add_owners(scope, cluster, *fleet, assets, io));
  const auto report = TRY(read_report(std::move(scope), cluster, *fleet, assets));
  const auto& hosts = report.hosts();
  if (options.format == Format::json)
    io.out(base::json::write(cluster::to_tree(report)) + "\n");
  else if (options.format == Format::csv)
    io.out(cluster::to_csv(report));
  else if (options.format == Format::html)
    io.out(cluster::to_html(report));
  else
    io.out(cluster::to_text(report, io.out_style.width));
  if (options.format == Format::csv)
    for (const cluster::UsageHost& host : hosts)
      if (!host.problem.empty())
        io.err(fmt::format("{}: {}\n", base::printable(host.host, 80), base::printable(host.problem, 400)));
  if (std::ranges::none_of(hosts, &cluster::UsageHost::reached)) return Outcome::unreachable;
  const bool whole = std::ranges::all_of(hosts, [](const auto& host) { return host.problem.empty(); });
  return whole ? Outcome::done : Outcome::failed;
}

}  // namespace

Command usage_command() {
  return CommandRow<UsageOptions>{
      .name = "usage",
      .group = Group::operate,
      .summary = "Show GPU hours held and used, and energy, from the records of health runs",
      .options =
          [](Line& line, UsageOptions& options) {
            add_hosts(line, options.hosts);
            line.value("--since", options.since, "TIME", "How far back: 12h, 30d (default 30d)");
            line.choice<UsageBy, UsageBy>("--by", options.by,
                                          {{"user", UsageBy::user},
                                           {"workload", UsageBy::workload},
                                           {"gpu", UsageBy::gpu},
                                           {"node", UsageBy::node}},
                                          "What a line is (default user)");
            add_format(line, options.format,
                       {{"csv", Format::csv},
                        {"html", Format::html},
                        {"json", Format::json},
                        {"text", Format::text}});
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm usage -f cluster.yaml", "GPU hours by user, of the last 30 days"},
                   {"gpuadm usage -f cluster.yaml --since 7d --by workload -o csv", "for a spreadsheet"}},
      .run = usage};
}

}  // namespace commands
