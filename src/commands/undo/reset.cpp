#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/run_summary.hpp"
#include "commands/shared_options.hpp"
#include "commands/undo/running_workloads.hpp"
#include "commands/undo/teardown.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct ResetOptions {
  Common common;
  Hosts hosts;
  bool force = false;  ///< also a cluster that gpuadm did not create, and what others have changed since
  bool keep_images = false, keep_driver = false;
  Consent consent = Consent::ask;
  Format format = Format::text;
};

/// The final state, for people.
std::string result_of(const std::vector<std::string>& hosts, const ResetOptions& options) {
  std::string before = "gpuadm changed it";
  if (hosts.size() > 1) before = "gpuadm changed them";
  if (options.keep_images) before += "; the container images are kept";
  if (options.keep_driver) before += "; the NVIDIA driver is kept";
  return restored(hosts, before);
}

/// Workloads that the reset ends: a reason to stop, or a note if it is forced or only shown.
Result<> check_workloads(const std::vector<std::string>& hosts, const ResetOptions& options,
                         const assets::Store& assets, const session::RunContext& session,
                         report::Reporter& reporter) {
  const RunningWorkloads running = TRY(running_workloads(hosts, {}, *session.fleet, assets));
  for (const std::string& line : running.lines) notify(reporter, report::Did::note, "", line + " ends");
  for (const auto* unknown : {&running.unread, &running.silent})
    for (const std::string& line : *unknown)
      notify(reporter, report::Did::note, "", "whether workloads run is unknown: " + line);
  return refuse_to_strand(running, options.force || options.consent == Consent::preview);
}

/// `changed`: hosts with something to undo.
Result<Outcome> teardown(Teardown& hosts_teardown, const assets::Store& assets, const ResetOptions& options,
                         const session::RunContext& session, std::vector<std::string>& changed,
                         report::Reporter& reporter, Io& io) {
  plan::Plan plan = TRY(hosts_teardown.plan());
  session::Execution execution{
      assets, std::move(plan), hosts_teardown.hosts(), options.consent,
      [&hosts_teardown](const session::Unread& unread) { return hosts_teardown.plan(unread.lost); }};
  TRY(check_workloads(hosts_teardown.nodes(), options, assets, session, reporter));
  report_kept(reporter, hosts_teardown.undo_plans());
  for (const auto& [host, way] : hosts_teardown.undo_plans())
    if (!way.stages.empty()) changed.push_back(host);
  if (const auto nodes = hosts_teardown.nodes(); !nodes.empty())
    notify(reporter, report::Did::note, "",
           fmt::format("the cluster on {} is deleted, with its pods and etcd data", base::join(nodes, ", ")));
  const Outcome outcome = TRY(session::execute(execution, session, reporter, io));
  if (outcome != Outcome::done || options.consent == Consent::preview) return outcome;
  return report_kept(reporter, hosts_teardown.undo_plans()) ? Outcome::failed : outcome;
}

/// Removes nodes from their cluster and undoes every run on them. Outcome::failed if something could not be
/// undone.
Result<Outcome> reset(const ResetOptions& options, Io& io) {
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  Teardown hosts_teardown = TRY(Teardown::of(
      cluster, {options.force, options.keep_images, options.keep_driver}, assets, *session.fleet));
  std::vector<std::string> changed;
  const Outcome outcome =
      TRY(session::with_reporter(session.folder, options.format, io, [&](report::Reporter& reporter) {
        return teardown(hosts_teardown, assets, options, session, changed, reporter, io);
      }));
  if (outcome == Outcome::done && options.consent != Consent::preview && options.format == Format::text &&
      !changed.empty())
    io.out(result_of(changed, options));
  return outcome;
}

}  // namespace

Command reset_command() {
  return CommandRow<ResetOptions>{
      .name = "reset",
      .group = Group::undo,
      .summary = "Remove Kubernetes from hosts and restore their state before gpuadm",
      .options =
          [](Line& line, ResetOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            line.flag("--force", options.force,
                      "Also reset clusters not created by gpuadm, or with workloads that run or cannot be "
                      "read, and restore what was changed by others since");
            line.flag("--keep-images", options.keep_images, "Keep the cluster's container images");
            line.flag("--keep-driver", options.keep_driver, "Keep the NVIDIA driver that gpuadm installed");
            add_consent(line, options.consent);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm reset root@192.0.2.10 --dry-run", "show what would be removed"},
                   {"gpuadm reset -f cluster.yaml", "the whole cluster"}},
      .run = reset};
}

}  // namespace commands
