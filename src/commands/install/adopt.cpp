#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/adopted.hpp"
#include "gpuadm/session/cluster.hpp"

#include "commands/install/bring_up.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace commands {

namespace {

struct AdoptOptions {
  Common common;
  Hosts hosts;
  std::filesystem::path output;  ///< new cluster file; empty: print it
  std::filesystem::path bundle;  ///< for the drift of a cluster that was installed from one
  bool record = false;           ///< also store it on the control plane, with `consent`
  Consent consent = Consent::ask;
};

using base::Fault;

Result<std::string> output_of(transport::Fleet& fleet, const std::string& host, transport::Command command) {
  fleet.submit(host, std::move(command));
  auto completion = fleet.next();
  if (!completion || fleet.interrupted())
    return base::fail(Fault::interrupted, "interrupted while reading the cluster");
  if (!completion->result) return std::unexpected(completion->result.error());
  return std::move(completion->result->out);
}

/// Whether a host has files of a control plane, also after an interrupted start.
bool has_cluster(const Result<facts::Facts>& facts) {
  return facts && (facts->kubernetes.admin_conf || !facts->kubernetes.manifests.empty());
}

/// Reads the cluster from control-plane nodes, until one lists the nodes.
Result<> ask_planes(cluster::Found& found, transport::Fleet& fleet, const assets::Store& assets) {
  const std::string script = TRY(session::reading_script(assets, "playbooks/adopt.sh"));
  const transport::Command made{.label = "read how the cluster was created", .script = script};
  for (const spec::Host& host : found.asked.hosts) {
    if (!has_cluster(found.census.at(host.name))) continue;
    auto view = facts::parse_cluster(TRY(output_of(fleet, host.name, TRY(session::view_command(assets)))));
    auto how = facts::parse_made(TRY(output_of(fleet, host.name, made)));
    if (!view || !how) continue;
    const bool answers = view->nodes.has_value();
    if (!found.plane.empty() && !answers) continue;
    found.plane = host.name;
    found.view = std::move(*view);
    found.made = std::move(*how);
    if (answers) return {};
  }
  return {};
}

/// Nodes that are not on the command line are surveyed, too.
Result<> survey_others(cluster::Found& found, const Connection& connection, const assets::Store& assets,
                       Io& io) {
  spec::Cluster others = found.asked;
  others.hosts = cluster::other_nodes(found);
  if (others.hosts.empty()) return {};
  const auto connections = TRY(session::Connections::open(others, connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  session::Survey survey = TRY(
      session::take_census(*fleet, assets, session::Afterwards::close_connection, session::Texts::dropped));
  for (auto& [host, facts] : survey.census) {
    if (!facts) found.gone.emplace(host, facts.error().what);
    found.census.insert_or_assign(host, std::move(facts));
  }
  std::ranges::move(others.hosts, std::back_inserter(found.asked.hosts));
  return {};
}

Result<cluster::Found> find_cluster(const AdoptOptions& options, const assets::Store& assets, Io& io) {
  cluster::Found found;
  found.asked = TRY(session::read_cluster(options.hosts, options.common.connection));
  const spec::Cluster named = found.asked;
  const auto connections = TRY(session::Connections::open(named, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  found.census =
      TRY(session::take_census(*fleet, assets, session::Afterwards::keep_connection, session::Texts::dropped))
          .census;
  TRY(session::all_read(found.census));
  TRY(ask_planes(found, *fleet, assets));
  TRY(survey_others(found, options.common.connection, assets, io));
  return found;
}

/// What apply would change, printed if the file is not.
Result<> report_drift(const AdoptOptions& options, spec::Cluster cluster, Io& io) {
  if (cluster.kubernetes.source == spec::Source::bundle && options.bundle.empty()) {
    io.err(
        "drift is not reported, because this cluster was installed from a bundle: gpuadm diff -f FILE "
        "--bundle DIR\n");
    return {};
  }
  Io aside = io;
  if (options.output.empty()) {
    aside.out = io.err;
    aside.out_style = io.err_style;
  }
  InitOptions preview;
  preview.common = options.common;
  preview.bundle = options.bundle;
  preview.consent = Consent::preview;
  TRY(apply_options(preview, cluster));
  const auto without_lost = [&](const spec::Cluster& all, session::Survey& survey,
                                transport::Fleet& fleet) -> Result<spec::Cluster> {
    std::set<std::string> gone;
    for (const auto& [host, facts] : survey.census)
      if (!facts) gone.insert(host);
    return without(all, gone, survey, fleet);
  };
  TRY(bring_up(preview, {"init", std::move(cluster), without_lost, Outcome::failed, Existing::accepted},
               aside));
  return {};
}

/// Stores the cluster file on the control plane, for `gpuadm join --to`.
Result<Outcome> record(const AdoptOptions& options, spec::Cluster cluster, const assets::Store& assets,
                       Io& io) {
  std::erase_if(cluster.hosts, [](const spec::Host& host) { return host.role != spec::Role::control_plane; });
  cluster.hosts.resize(1);
  const playbook::Library library = TRY(playbook::Library::load(assets, "adopt"));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  const session::Survey survey = TRY(session.survey_all(assets));
  Io aside = io;
  if (options.output.empty()) aside.out = io.err;
  return session::run_and_report({cluster, assets, library, nullptr, {}, options.consent}, survey, session,
                                 Format::text, aside);
}

/// Generates a cluster file from an existing cluster, also from an interrupted installation, and lists what
/// apply would still change (docs/reference/adopt.md). Changes hosts only with `record`. Fault::spec if a
/// cluster file cannot describe the cluster.
Result<Outcome> adopt(const AdoptOptions& options, Io& io) {
  if (!options.output.empty())
    TRY(base::is_new(options.output, "specify a file that does not exist, or omit -o to print it"));
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  constexpr const char* usual_file = "data/kubeadm-usual.yaml";
  const base::Tree usual = TRY(base::yaml::read(TRY(assets.read(usual_file)), usual_file));
  const cluster::Found found = TRY(find_cluster(options, assets, io));
  const cluster::Adopted adopted = cluster::read_back(found, usual);
  const std::string text = cluster::to_file(adopted);
  if (options.output.empty())
    io.out(text);
  else
    TRY(base::write_file(options.output, text, 0644));
  // Clusters that a cluster file cannot describe.
  spec::Cluster cluster =
      TRY(spec::parse(text, options.output.empty() ? "cluster.yaml" : options.output.string()));
  if (!options.output.empty()) io.out(fmt::format("wrote {}\n", options.output.string()));
  TRY(report_drift(options, cluster, io));
  return options.record ? record(options, std::move(cluster), assets, io) : Outcome::done;
}

}  // namespace

Command adopt_command() {
  return CommandRow<AdoptOptions>{
      .name = "adopt",
      .group = Group::install,
      .summary = "Generate a cluster file from an existing cluster",
      .options =
          [](Line& line, AdoptOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            line.value("-o,--output", options.output, "FILE",
                       "File to create; must not exist (default: print)");
            line.value("--bundle", options.bundle, "DIR",
                       "Bundle that the cluster was installed from, to report drift");
            const Option record = line.flag(
                "--record", options.record,
                "Also store it on the control plane, for gpuadm join with --to; gpuadm undo reverts this");
            add_consent(line, options.consent, record);
          },
      .examples = {{"gpuadm adopt root@192.0.2.10", "a cluster created with kubeadm"}},
      .run = adopt};
}

}  // namespace commands
