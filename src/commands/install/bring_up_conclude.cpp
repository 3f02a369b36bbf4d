#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"

#include "commands/install/bring_up_stages.hpp"
#include "commands/install/closing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

/// The operator's copy of a remote cluster's kubeconfig; empty: none.
Result<std::filesystem::path> fetch_kubeconfig(const spec::Cluster& cluster, const facts::Census& census,
                                               transport::Fleet& fleet, const assets::Store& assets) {
  const spec::Host* first = playbook::first_control_plane(cluster, census);
  if (!first || first->endpoint.local) return std::filesystem::path();
  const auto text = session::read_admin_conf(cluster, fleet, assets);
  if (!text) return std::filesystem::path();  // a run of some phases may end before it exists
  std::filesystem::path file = base::state_directory() / cluster.name / "kubeconfig";
  const base::Tree admin = TRY(base::yaml::read(*text, first->name + ":/etc/kubernetes/admin.conf"));
  const base::Tree config = TRY(session::with_context({}, admin, cluster.name, session::Current::becomes));
  TRY(base::write_file(file, base::yaml::write(config), 0600));
  return file;
}

}  // namespace

Result<> conclude(const BringUpRun& run, const session::PlaybookRun& executed, const CountedRun& ran,
                  Io& io) {
  const InitOptions& options = run.options;
  const spec::Cluster& cluster = executed.cluster;
  const std::filesystem::path kubeconfig =
      TRY(fetch_kubeconfig(cluster, run.survey.census, *run.session.fleet, run.assets));
  // Without the phases of GPUs, the cluster is complete.
  const bool whole =
      options.phases.empty() && std::ranges::all_of(options.skip_phases, [](const std::string& phase) {
        return phase == "gpu" || phase.starts_with("gpu/");
      });
  if (options.format != Format::text || io.out_style.verbosity == report::Verbosity::quiet || !whole ||
      options.ending == Ending::report) {
    if (!kubeconfig.empty()) io.err(fmt::format("kubeconfig: {}\n", kubeconfig.string()));
    return {};
  }
  io.out(closing_text({.cluster = cluster,
                       .session = run.session,
                       .assets = run.assets,
                       .kubeconfig = kubeconfig.empty() ? std::nullopt : std::optional(kubeconfig),
                       .waiting = options.waiting,
                       .kubernetes = spec::kubernetes_of(cluster, executed.decisions),
                       .compute_on = ran.changed,
                       .known = ran.needed ? nullptr : &run.survey.census},
                      io));
  return {};
}

}  // namespace commands
