
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/status_show.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/judge_status.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

/// `wide`: text of any width, with addresses, members of etcd and single GPUs.
enum class StatusForm { text, wide, json, yaml };

struct StatusOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  int watch = 0;               ///< seconds between two surveys; 0: one survey
  StatusForm form = StatusForm::text;
};

using base::Fault;

Result<cluster::Status> judge(const session::StatusSurvey& found, StatusJudge& judges) {
  cluster::Status status = TRY(judges.judge(found.survey, found.asked)).status;
  if (!found.survey.view && found.unread)
    status.verdict.problems.push_back({"the cluster",
                                       "no control-plane node describes the cluster: " + found.unread->what,
                                       found.unread->hint,
                                       {"cl.apiserver.healthz"}});
  return status;
}

Result<session::StatusSurvey> recorded(const std::filesystem::path& folder) {
  session::StatusSurvey found{TRY(session::load_recording(folder)), {}, {}};
  const facts::Census& census = found.survey.survey.census;
  if (!found.survey.view && session::unreached_in(census).empty()) {
    TRY(session::has_control_plane(found.survey.cluster, census));
    return base::fail(Fault::usage, fmt::format("{}: the recording contains no cluster", folder.string()),
                      "record it with: gpuadm doctor --stage cluster --record DIR");
  }
  for (const spec::Host& host : found.survey.cluster.hosts)
    if (found.asked.empty() && found.survey.view && facts::is_control_plane(census, host.name))
      found.asked = host.name;
  return found;
}

std::string in_form(const cluster::Status& status, StatusForm form, std::size_t screen) {
  switch (form) {
    case StatusForm::json:
      return base::json::write(to_tree(status)) + "\n";
    case StatusForm::yaml:
      return base::yaml::write(to_tree(status));
    case StatusForm::wide:
      return to_text(status, cluster::Width::any, screen);
    case StatusForm::text:
      break;
  }
  return to_text(status, cluster::Width::terminal, screen);
}

/// Repeats until Ctrl-C: in place on a terminal, otherwise one page after the other.
Result<Outcome> watch(const StatusOptions& options, const spec::Cluster& cluster, const assets::Store& assets,
                      StatusJudge& judges, transport::Fleet& fleet, Io& io) {
  const bool page = io.page && (options.form == StatusForm::text || options.form == StatusForm::wide);
  while (true) {
    const base::Instant begun = base::Clock::now();
    const auto found = session::survey_cluster(cluster, fleet, assets);
    const auto status = found ? judge(*found, judges) : std::unexpected(found.error());
    if (fleet.interrupted() || !status) {
      if (page) io.end_page();
      if (fleet.interrupted()) return Outcome::interrupted;
      return std::unexpected(status.error());
    }
    const std::string at = base::iso8601(base::now()).substr(0, 19) + "Z";
    if (page)
      io.page(fmt::format("gpuadm status: every {}s, last {}; Ctrl-C to stop\n", options.watch, at) +
              in_form(*status, options.form, io.out_style.width));
    else if (options.form == StatusForm::json)
      io.out(base::json::write(to_tree(*status), 0) + "\n");
    else
      io.out((options.form == StatusForm::yaml ? "---\n" : at + "\n") +
             in_form(*status, options.form, io.out_style.width) +
             (options.form == StatusForm::yaml ? "" : "\n"));
    (void)fleet.next_until(begun + std::chrono::seconds(options.watch));
    if (fleet.interrupted()) {
      if (page) io.end_page();
      return Outcome::interrupted;
    }
  }
}

Result<> goes_together(const StatusOptions& options) {
  if (options.from.empty()) return {};
  if (!options.hosts.targets.empty() || !options.hosts.file.empty())
    return base::fail(Fault::usage, "--from cannot be combined with hosts or files");
  if (options.watch > 0)
    return base::fail(Fault::usage, "--watch cannot be combined with a recording", "omit --from or --watch");
  return {};
}

/// Prints nodes, control planes, etcd, network, certificates and GPUs, as reported by hosts and a
/// control-plane node (docs/reference/status.md). Changes nothing. Outcome::failed if there is a problem,
/// ::unreachable if no host is reachable. Fault::usage if all are reachable and none is a control-plane node.
Result<Outcome> status(const StatusOptions& options, Io& io) {
  TRY(goes_together(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  StatusJudge judges(assets, io.err_style.complete);
  if (!options.from.empty()) {
    const cluster::Status status = TRY(judge(TRY(recorded(options.from)), judges));
    io.out(in_form(status, options.form, io.out_style.width));
    return status.verdict.health() == cluster::Health::well ? Outcome::done : Outcome::failed;
  }
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  if (options.watch > 0) return watch(options, cluster, assets, judges, *fleet, io);
  const session::StatusSurvey found = TRY(session::survey_cluster(cluster, *fleet, assets));
  const cluster::Status status = TRY(judge(found, judges));
  io.out(in_form(status, options.form, io.out_style.width));
  if (found.survey.survey.none_reached()) return Outcome::unreachable;
  return status.verdict.health() == cluster::Health::well ? Outcome::done : Outcome::failed;
}

}  // namespace

Command status_command() {
  return CommandRow<StatusOptions>{
      .name = "status",
      .group = Group::inspect,
      .summary = "Show the state of a cluster: nodes, control plane, etcd, network, certificates, GPUs",
      .options =
          [](Line& line, StatusOptions& options) {
            add_hosts(line, options.hosts);
            line.value("--from", options.from, "DIR", "Read a recording instead of connecting to hosts");
            line.attached("--watch", options.watch, "5", "[=SECONDS]",
                          "Repeat every N seconds (default 5) until Ctrl-C, in place on a terminal")
                .range(1, 86400);
            line.choice<StatusForm, StatusForm>("-o,--output", options.form,
                                                {{"text", StatusForm::text},
                                                 {"wide", StatusForm::wide},
                                                 {"json", StatusForm::json},
                                                 {"yaml", StatusForm::yaml}},
                                                "Output format; text fits 80 columns");
            add_connection(line, options.common);
          },
      .examples = {{"gpuadm status -f cluster.yaml", "on 80 columns"},
                   {"gpuadm status -f cluster.yaml --watch", "refreshed in place"}},
      .run = status};
}

}  // namespace commands
