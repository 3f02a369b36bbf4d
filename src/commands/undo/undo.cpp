#include "gpuadm/base/text.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/run_summary.hpp"
#include "commands/shared_options.hpp"
#include "commands/undo/teardown.hpp"
#include "commands/undo/undo_plan.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

namespace commands {

namespace {

struct UndoOptions {
  Common common;
  Hosts hosts;
  std::string run;     ///< empty: the last one that changed something
  bool all = false;    ///< every run in the host's journal
  bool force = false;  ///< also restore what others have changed since
  Consent consent = Consent::ask;
  Format format = Format::text;
};

/// Converts the hosts' journals into a plan, repeatedly.
class UndoSteps {
 public:
  UndoSteps(const spec::Cluster& cluster, const assets::Store& assets, std::string functions, plan::Undo undo,
            transport::Fleet& fleet)
      : cluster_(cluster),
        assets_(assets),
        functions_(std::move(functions)),
        undo_(std::move(undo)),
        fleet_(fleet) {}

  /// If an init or a join did not finish: the steps of reset, first. Journals of lost hosts are not read
  /// again.
  Result<plan::Plan> plan(const std::set<std::string>& lost = {}) {
    std::vector<std::string> hosts = fleet_.hosts();
    std::erase_if(hosts, [&](const std::string& host) { return lost.contains(host); });
    const Journals journals = TRY(read_journals(fleet_, hosts, functions_));
    UndoPlans fresh = TRY(make_undo_plans(journals, undo_));
    fresh.merge(std::exchange(undo_plans, {}));
    undo_plans = std::move(fresh);
    if (!steps_) steps_ = TRY(first_steps(journals));
    plan::Plan plan = *steps_;
    for (plan::Stage& stage : plan::to_plan(undo_plans, "").stages) plan.stages.push_back(std::move(stage));
    return plan;
  }

  UndoPlans undo_plans;
  std::vector<std::string> unfinished;  ///< hosts whose unfinished cluster is removed

 private:
  Result<plan::Plan> first_steps(const Journals& journals) {
    spec::Cluster cluster = cluster_;
    std::erase_if(cluster.hosts, [&](const spec::Host& host) {
      const auto journal = journals.find(host.name);
      return journal == journals.end() || !undoes_cluster(journal->second, undo_);
    });
    for (const spec::Host& host : cluster.hosts) unfinished.push_back(host.name);
    if (unfinished.empty()) return plan::to_plan({}, functions_);
    return reset_steps(std::move(cluster), {.force = undo_.force}, assets_, fleet_);
  }

  const spec::Cluster& cluster_;
  const assets::Store& assets_;
  std::string functions_;
  plan::Undo undo_;
  transport::Fleet& fleet_;
  std::optional<plan::Plan> steps_;
};

Result<Outcome> undo_one(UndoSteps& back, const assets::Store& assets, const UndoOptions& options,
                         const session::RunContext& session, std::vector<std::string>& changed,
                         report::Reporter& reporter, Io& io) {
  plan::Plan plan = TRY(back.plan());
  session::Execution execution{assets, std::move(plan), {}, options.consent, {}};
  execution.again = [&](const session::Unread& unread) { return back.plan(unread.lost); };
  for (const auto& [host, way] : back.undo_plans)
    if (!way.stages.empty()) execution.hosts.push_back(host);
  changed = execution.hosts;
  const bool kept = report_kept(reporter, back.undo_plans);
  if (execution.hosts.empty()) {
    notify(reporter, report::Did::finished, "", kept ? "nothing was changed" : "there is nothing to undo");
    return kept ? Outcome::failed : Outcome::done;
  }
  if (!back.unfinished.empty())
    notify(reporter, report::Did::note, "",
           fmt::format("kubeadm did not finish on {}: what it started is also stopped and removed",
                       base::join(back.unfinished, ", ")));
  const Outcome outcome = TRY(session::execute(execution, session, reporter, io));
  if (outcome != Outcome::done || !kept || options.consent == Consent::preview) return outcome;
  report_kept(reporter, back.undo_plans);
  return Outcome::failed;
}

/// Undoes runs, as recorded in each host's journal. Outcome::failed if something could not be undone.
Result<Outcome> undo(const UndoOptions& options, Io& io) {
  if (options.all && !options.run.empty())
    return base::fail(base::Fault::usage, "--all cannot be combined with --run", "use one of them");
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  std::string functions;
  for (const char* file : {"prelude.sh", "package-managers.sh", "undo.sh"})
    functions += TRY(assets.read(fmt::format("playbooks/{}", file)));
  const spec::Cluster cluster = TRY(session::read_cluster(options.hosts, options.common.connection));
  const session::RunContext session =
      TRY(session::RunContext::open(cluster, options.common.connection, options.consent, io));
  UndoSteps back(cluster, assets, functions, {.run = options.run, .all = options.all, .force = options.force},
                 *session.fleet);
  std::vector<std::string> changed;
  const Outcome outcome =
      TRY(session::with_reporter(session.folder, options.format, io, [&](report::Reporter& reporter) {
        return undo_one(back, assets, options, session, changed, reporter, io);
      }));
  if (outcome == Outcome::done && options.consent != Consent::preview && options.format == Format::text &&
      !changed.empty())
    io.out(restored(changed, options.all           ? "gpuadm's first run"
                             : options.run.empty() ? "the last run"
                                                   : "run " + options.run));
  return outcome;
}

}  // namespace

Command undo_command() {
  return CommandRow<UndoOptions>{
      .name = "undo",
      .group = Group::undo,
      .summary = "Revert the changes of the last run, as recorded in each host's journal",
      .options =
          [](Line& line, UndoOptions& options) {
            add_hosts(line, options.hosts);
            add_connection(line, options.common);
            const Option run = line.value("--run", options.run, "RUN", "Revert only this run");
            line.flag("--all", options.all, "Revert every run in the journal").excludes(run);
            line.flag("--force", options.force, "Also restore what was changed by others since");
            add_consent(line, options.consent);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm undo root@192.0.2.10 --dry-run", "show what would be reverted"},
                   {"gpuadm undo root@192.0.2.10", "revert the last run"}},
      .run = undo};
}

}  // namespace commands
