#include "gpuadm/app/status.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/status_show.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/session/cluster_view.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/status_survey.hpp"
#include "gpuadm/session/typed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace app {

namespace {

using base::Fault;

/// Findings of hosts with GPUs: they explain why a GPU is not allocatable.
Result<std::vector<report::Finding>> gpu_findings(const session::StatusSurvey& found,
                                                  const assets::Store& assets,
                                                  const std::optional<facts::ClusterFacts>& view) {
  facts::Census census;
  for (const auto& [host, facts] : found.survey.survey.census)
    if (facts && !(facts->nvidia.pci_gpus.empty() && facts->nvidia.gpus.empty())) census.emplace(host, facts);
  if (census.empty()) return {};
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  auto findings = checks::examine(found.survey.cluster, {}, census, *data, checks::Stage::node);
  if (view)
    std::ranges::move(checks::examine_cluster(found.survey.cluster, census, *view, *data),
                      std::back_inserter(findings));
  return findings;
}

/// Completes suggested commands with the arguments that select the same hosts.
void complete(cluster::Status& status, const StatusOptions& options) {
  const std::string rest = session::typed({options.hosts.file, {}}, options.common.connection);
  for (cluster::Problem& problem : status.problems)
    if (problem.remedy.starts_with("gpuadm ")) problem.remedy += rest;
}

Result<cluster::Status> judge(const session::StatusSurvey& found, const assets::Store& assets,
                              const StatusOptions& options) {
  std::optional<facts::ClusterFacts> view;
  if (found.survey.view) view = TRY(facts::parse_cluster(*found.survey.view));
  const auto findings = TRY(gpu_findings(found, assets, view));
  cluster::Status status =
      cluster::status_of({found.survey.cluster, found.survey.survey.census, view, found.asked}, findings);
  complete(status, options);
  return status;
}

Result<session::StatusSurvey> recorded(const std::filesystem::path& folder) {
  session::StatusSurvey found{TRY(session::load_recording(folder)), {}};
  for (const spec::Host& host : found.survey.cluster.hosts)
    if (found.asked.empty() && found.survey.view &&
        facts::is_control_plane(found.survey.survey.census, host.name))
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
                      transport::Fleet& fleet, Io& io) {
  const bool page = io.page && (options.form == StatusForm::text || options.form == StatusForm::wide);
  while (true) {
    const base::Instant begun = base::Clock::now();
    const auto found = session::survey_cluster(cluster, fleet, assets);
    const auto status = found ? judge(*found, assets, options) : std::unexpected(found.error());
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

}  // namespace

Result<Outcome> status(const StatusOptions& options, Io& io) {
  TRY(goes_together(options));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  if (!options.from.empty()) {
    const cluster::Status status = TRY(judge(TRY(recorded(options.from)), assets, options));
    io.out(in_form(status, options.form, io.out_style.width));
    return status.problems.empty() ? Outcome::done : Outcome::failed;
  }
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  if (options.watch > 0) return watch(options, cluster, assets, *fleet, io);
  const session::StatusSurvey found = TRY(session::survey_cluster(cluster, *fleet, assets));
  const cluster::Status status = TRY(judge(found, assets, options));
  io.out(in_form(status, options.form, io.out_style.width));
  if (found.survey.survey.none_reached()) return Outcome::unreachable;
  return status.problems.empty() ? Outcome::done : Outcome::failed;
}

}  // namespace app
