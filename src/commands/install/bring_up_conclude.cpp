#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/cluster.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/recording.hpp"

#include "commands/inspect/judge_status.hpp"
#include "commands/install/bring_up_stages.hpp"
#include "commands/run_summary.hpp"

#include <fmt/format.h>

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

/// What stands now, as status judges it. Nothing: it could not be read, or the run did not wait for it.
std::optional<cluster::Status> read_status(const BringUpRun& run, const spec::Cluster& cluster) {
  if (run.options.waiting != Waiting::until_it_works) return std::nullopt;
  const auto found = session::survey_cluster(cluster, *run.session.fleet, run.assets);
  if (!found || found->asked.empty()) return std::nullopt;
  StatusJudge judges(run.assets, {});
  auto judged = judges.judge(found->survey, found->asked);
  if (!judged) return std::nullopt;
  return std::move(judged->status);
}

}  // namespace

Result<> conclude(const BringUpRun& run, const session::PlaybookRun& executed, Io& io) {
  const InitOptions& options = run.options;
  const spec::Cluster& cluster = executed.cluster;
  const std::filesystem::path kubeconfig =
      TRY(fetch_kubeconfig(cluster, run.survey.census, *run.session.fleet, run.assets));
  const bool whole = options.phases.empty() && options.skip_phases.empty();
  if (options.format != Format::text || io.out_style.verbosity == report::Verbosity::quiet || !whole) {
    if (!kubeconfig.empty()) io.err(fmt::format("kubeconfig: {}\n", kubeconfig.string()));
    return {};
  }
  const Hosts& reached_by = run.setup.reached_by ? *run.setup.reached_by : options.hosts;
  io.out(
      to_text({cluster, run.survey.census, kubeconfig, session::typed(reached_by, options.common.connection),
               options.waiting == Waiting::until_it_works, spec::kubernetes_of(cluster, executed.decisions),
               read_status(run, cluster)}));
  return {};
}

}  // namespace commands
