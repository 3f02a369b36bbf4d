#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/workload/objects.hpp"

#include "commands/install/closing.hpp"
#include "commands/install/up/up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

/// What `gpuadm up` reads for its question and for its end, and the options that it refuses.
namespace commands {

namespace {

using base::Fault;

Result<> refuse(std::string what, std::string hint) {
  return base::fail(Fault::usage, std::move(what), std::move(hint));
}

}  // namespace

Result<> check_up(const UpOptions& options) {
  const Hosts& hosts = options.hosts;
  if (!hosts.file.empty() && !hosts.targets.empty())
    return refuse(fmt::format("{}: up works on all hosts of the cluster file {}",
                              base::printable(hosts.targets.front(), 80), hosts.file.string()),
                  "leave out the host, or leave out -f");
  if (hosts.targets.size() > 1)
    return refuse(
        fmt::format("{}: up makes one machine a cluster",
                    base::printable(base::join(hosts.targets, " "), 200)),
        "for several hosts: gpuadm config init HOST… -o cluster.yaml, then gpuadm up -f cluster.yaml");
  if (options.format == Format::json && options.consent == Consent::ask)
    return refuse("-o json: no question can be asked", "add -y, or --dry-run to see what would be done");
  const workload::NotebookRequest& notebook = options.notebook;
  const auto alone = [&](bool given, const char* name) -> Result<> {
    if (!given || !notebook.name.empty()) return {};
    return refuse(fmt::format("{}: no notebook is requested", name), "add --notebook NAME");
  };
  TRY(alone(!notebook.gpus.empty(), "--gpus"));
  TRY(alone(!notebook.image.empty(), "--image"));
  TRY(alone(!notebook.size.empty(), "--size"));
  TRY(alone(!notebook.storage.empty(), "--storage"));
  TRY(alone(!options.tunnel, "--no-tunnel"));
  TRY(alone(options.port != 0, "--local-port"));
  TRY(alone(!notebook.command.empty(), "-- COMMAND"));
  if (!options.tunnel && options.port != 0)
    return refuse("--local-port: no tunnel is opened with --no-tunnel", "leave out one of them");
  if (notebook.name.empty()) return {};
  workload::NotebookRequest request = notebook;
  if (request.gpus.empty()) request.gpus = "1";
  TRY(workload::make_notebook(request));
  return {};
}

Result<UpSurvey> survey_for_up(const UpOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const auto connections = TRY(session::Connections::open(cluster, options.common.connection, io));
  const auto fleet = connections->fleet(session::Access::read_only);
  const session::Survey survey = TRY(session::take_census(*fleet, assets));
  TRY(session::all_read(survey.census));
  UpSurvey seen;
  std::set<std::string> models;
  for (const auto& [host, facts] : survey.census) {
    seen.gpus += std::max(facts->nvidia.gpus.size(), facts->nvidia.pci_gpus.size());
    for (const facts::Gpu& gpu : facts->nvidia.gpus) models.insert(base::printable(gpu.name, 50));
  }
  seen.models = base::join(std::vector(models.begin(), models.end()), ", ");
  return seen;
}

Result<std::string> up_closing(const UpRun& run, Io& io) {
  const UpOptions& options = run.options;
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, Consent::preview, io));
  return closing_text({.cluster = cluster,
                       .session = session,
                       .assets = assets,
                       .kubeconfig = own_kubeconfig(cluster.name),
                       .kubernetes = {},
                       .computed = run.computed,
                       .notebook = options.notebook.name},
                      io);
}

}  // namespace commands
