#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/cluster/gpu_rows.hpp"
#include "gpuadm/facts/control_plane.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/refusal.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/recording.hpp"
#include "gpuadm/workload/gpus.hpp"

#include "commands/install/identity.hpp"
#include "commands/shared_options.hpp"
#include "commands/workloads/reach.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct GpuListOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path from;  ///< a recording to read instead of hosts
  Format format = Format::text;
};

struct Listed {
  session::ClusterSurvey recording;
  cluster::GpuTable table;
};

/// Of what was read.
Result<Listed> list(session::ClusterSurvey recording, const checks::Data& data) {
  const facts::Census& census = recording.survey.census;
  std::optional<facts::ClusterFacts> view;
  if (recording.view) view = TRY(facts::parse_cluster(*recording.view));
  auto findings = checks::examine(recording.cluster, {}, census, data, checks::Stage::node);
  if (view)
    std::ranges::move(checks::examine_cluster(recording.cluster, census, *view, data),
                      std::back_inserter(findings));
  cluster::GpuTable table = cluster::gpu_table(recording.cluster, census, view, findings);
  return Listed{std::move(recording), std::move(table)};
}

/// Surveys hosts, and their cluster if one of them is a control-plane node. All of the cluster is read only
/// to say why pods cannot get a GPU.
Result<Listed> list_hosts(const GpuListOptions& options, const assets::Store& assets,
                          const checks::Data& data, Io& io) {
  session::ClusterSurvey recording{
      TRY(session::read_cluster(options.hosts, options.common.connection)), {}, {}};
  const auto connections = TRY(session::Connections::open(recording.cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  recording.survey = TRY(
      session::take_census(*fleet, assets, session::Afterwards::keep_connection, session::Texts::dropped));
  const facts::Census& census = recording.survey.census;
  recording.cluster =
      known_settings(recording.cluster, options.hosts.file, recording.survey, *fleet, assets, io);
  const bool some = std::ranges::any_of(recording.cluster.hosts, [&](const spec::Host& host) {
    return facts::is_control_plane(census, host.name);
  });
  if (!some) return list(std::move(recording), data);
  const auto view = [&](const std::string& purpose) {
    return session::view_cluster(recording.cluster, census, *fleet, assets, session::view_timeout, purpose);
  };
  recording.view = TRY(view("dashboard"));
  Listed listed = TRY(list(recording, data));
  if (std::ranges::all_of(listed.table.rows, [](const auto& row) { return row.allocatable == true; }))
    return listed;
  recording.view = TRY(view({}));
  return list(std::move(recording), data);
}

std::string pods_of(const cluster::GpuRow& row) {
  return row.holders.empty() ? "nobody" : base::join(row.holders, ", ");
}

std::string allocatable_of(const cluster::GpuRow& row) {
  if (row.allocatable == true) return "yes";
  return (row.allocatable ? "no: " : "unknown: ") + row.why;
}

std::vector<std::string> cells_of(const cluster::GpuRow& row) {
  std::vector<std::string> cells = {row.host,    row.slot,   row.model,    row.uuid,           row.driver,
                                    row.sharing, row.health, pods_of(row), allocatable_of(row)};
  for (std::string& cell : cells) cell = base::printable(cell, 200);
  return cells;
}

/// A narrow terminal omits columns that identify a GPU a second time or are the same for its host, then
/// truncates. -o json is complete.
std::string to_text(const cluster::GpuTable& table, const report::Style& style) {
  std::vector<std::vector<std::string>> lines = {
      {"NODE", "PCI SLOT", "MODEL", "UUID", "DRIVER", "SHARING", "HEALTH", "HELD BY", "ALLOCATABLE"}};
  for (const cluster::GpuRow& row : table.rows) lines.push_back(cells_of(row));
  for (const std::string_view head : {"UUID", "DRIVER"}) {
    const std::string whole = report::columns(lines);
    if (style.width == 0 ||
        std::ranges::all_of(base::lines(whole), [&](auto line) { return line.size() <= style.width; }))
      break;
    const auto place = std::ranges::find(lines.front(), head) - lines.front().begin();
    for (std::vector<std::string>& line : lines) line.erase(line.begin() + place);
  }
  const std::size_t last = lines.front().size() - 1;
  return report::columns(std::move(lines), style.width, {last - 1, last, 2});
}

/// Different counts of a host are the diagnosis.
std::string differences(const cluster::GpuTable& table) {
  std::string text;
  for (const cluster::GpuCounts& c : table.counts) {
    const auto driver = static_cast<long long>(c.driver);
    if (c.pci == c.driver && c.allocatable.value_or(driver) == driver) continue;
    text += fmt::format("{}: {} on the PCI bus, {} by the driver", base::printable(c.host), c.pci, c.driver);
    text += c.allocatable ? fmt::format(", {} allocatable\n", *c.allocatable) : "\n";
  }
  return text;
}

Outcome report_unreached(const session::ClusterSurvey& recording, Io& io) {
  Outcome outcome = Outcome::done;
  for (const auto& [host, facts] : recording.survey.census) {
    if (facts) continue;
    io.err(report::to_text(facts.error(), io.err_style));
    outcome = Outcome::unreachable;
  }
  return outcome;
}

std::string kind_of(const workload::GpuOffer& offer) {
  if (!offer.profile.empty()) return "MIG " + offer.profile;
  return offer.shares > 1 ? fmt::format("1/{} of a GPU", offer.shares) : "GPU";
}

/// With a kubeconfig: what nodes offer, and what pods of the namespace hold. The GPUs themselves are read on
/// hosts.
Result<Outcome> list_offers(const GpuListOptions& options, Io& io) {
  const auto reached =
      TRY(ReachedCluster::open(options.hosts, options.common, session::Access::read_only, io));
  const workload::GpuSupply supply = TRY(workload::supply_of(TRY(reached->client().read_nodes_and_pods())));
  std::vector<std::vector<std::string>> lines = {{"NODE", "KIND", "COUNT", "HELD IN " + supply.pods_of}};
  base::Tree list = base::Tree::list();
  for (const workload::GpuOffer& offer : supply.offers) {
    const std::string holders = base::printable(base::join(offer.holders, ", "), 300);
    lines.push_back({base::printable(offer.node), kind_of(offer), std::to_string(offer.all),
                     holders.empty() ? "none" : holders});
    list.push(base::Tree::map_of({{"node", offer.node},
                                  {"kind", kind_of(offer)},
                                  {"resource", offer.resource},
                                  {"count", static_cast<std::int64_t>(offer.all)},
                                  {"heldHere", base::Tree::list_of(offer.holders)}}));
  }
  if (options.format == Format::json) {
    io.out(base::json::write(base::Tree::map_of({{"namespace", supply.pods_of},
                                                 {"offers", std::move(list)},
                                                 {"unusable", base::Tree::list_of(supply.unusable)}})) +
           "\n");
    return Outcome::done;
  }
  if (supply.offers.empty())
    io.out("no node offers GPUs\n");
  else
    io.out(report::columns(std::move(lines), io.out_style.width, {3}));
  for (const std::string& node : supply.unusable)
    io.out(fmt::format("not usable now: {}\n", base::printable(node)));
  io.err(
      "unknown: which of them pods of other namespaces hold, and the models and health of GPUs; an "
      "administrator sees them over SSH\n");
  return Outcome::done;
}

/// Prints one line per GPU: node, model, sharing, health, users, and whether a pod can get it. Changes
/// nothing.
Result<Outcome> gpu_list(const GpuListOptions& options, Io& io) {
  if (!options.from.empty() && (!options.hosts.targets.empty() || !options.hosts.file.empty()))
    return base::fail(base::Fault::usage, "--from cannot be combined with hosts or files");
  if (!options.common.connection.kubeconfig.empty()) return list_offers(options, io);
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  const Listed listed = TRY(options.from.empty() ? list_hosts(options, assets, *data, io)
                                                 : list(TRY(session::load_recording(options.from)), *data));
  const auto& [recording, table] = listed;
  if (options.format == Format::json)
    io.out(base::json::write(cluster::to_tree(table)) + "\n");
  else if (!table.rows.empty())
    io.out(to_text(table, io.out_style) + differences(table));
  else if (std::ranges::any_of(recording.survey.census,
                               [](const auto& host) { return host.second.has_value(); }))
    io.out("no NVIDIA GPU was found\n");
  return report_unreached(recording, io);
}

}  // namespace

Command gpu_list_command() {
  return CommandRow<GpuListOptions>{
      .name = "gpu list",
      .group = Group::operate,
      .summary = "List GPUs with node, model, sharing, health, user and availability",
      .options =
          [](Line& line, GpuListOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            const Option from =
                line.value("--from", options.from, "DIR", "Read a recording instead of connecting to hosts");
            add_kubeconfig(line, options.common).excludes(from);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm gpu list -f cluster.yaml", "all GPUs and their users"}},
      .run = gpu_list};
}

}  // namespace commands
